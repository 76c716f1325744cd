//! Many clients at once, one of them greedy: it is refused, and every other one has its answer.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ars_testkit::Reply;
use ars_tests_drills::{Machine, PATIENCE, Setup, secrets, until};
use futures::{StreamExt as _, stream};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    PROGRAM,
    kills::{lapse, over},
};

/// Clients with a token of their own.
const CLIENTS: usize = 199;
/// Requests of the greedy client, all at once.
const GREEDY: usize = 100;
/// The answer to every request.
const ANSWER: &str = "Here is the answer.";

fn token(client: usize) -> String {
    format!("client-{client}")
}

/// The tokens of the clients beside that of the greedy one.
fn tokens() -> String {
    let mut tokens = json!({ secrets::INGRESS: { "subject": "greedy" } });
    for client in 0..CLIENTS {
        tokens[token(client)] = json!({ "subject": token(client) });
    }
    tokens.to_string()
}

/// Posts a request. Returns the status, whether it names a time for another attempt, and the body.
async fn ask(client: &reqwest::Client, url: &str, token: &str, body: Value) -> (u16, bool, Value) {
    let response = client.post(format!("{url}/ingress")).bearer_auth(token).json(&body).send().await.unwrap();
    let has_time = response.headers().contains_key("retry-after");
    (response.status().as_u16(), has_time, response.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn greedy_client_is_refused_and_others_are_served() {
    let environment = vec![("SERVICE_INGRESS_TOKENS", tokens())];
    // Every client has one connection, and they all come from one address.
    let config = "[limits]\nrequestsPerMinute = 60\nrunsPerCaller = 2\nruns = 8\n".to_owned();
    let setup = Setup { environment, config, ..Setup::default() };
    let machine = Machine::with(PROGRAM, setup, |_| Reply::text(ANSWER)).await;
    let mut bot = machine.bot().await;
    let url = bot.url().unwrap().to_owned();
    let client = reqwest::Client::new();

    let request = |thread: usize| json!({ "text": "agent:general question", "thread": format!("t{thread}"), "async": true });
    let greedy = async {
        let asked = (0..GREEDY).map(|thread| ask(&client, &url, secrets::INGRESS, request(thread)));
        stream::iter(asked).buffer_unordered(32).collect::<Vec<_>>().await
    };
    let others = async {
        let asked = (0..CLIENTS).map(async |number| ask(&client, &url, &token(number), request(0)).await);
        stream::iter(asked).buffer_unordered(16).collect::<Vec<_>>().await
    };
    let (greedy, others) =
        tokio::time::timeout(PATIENCE, async { tokio::join!(greedy, others) }).await.unwrap();

    let refused = greedy.iter().filter(|(status, has_time, _)| *status == 429 && *has_time).count();
    let accepted = greedy.iter().filter(|(status, ..)| *status == 202).count();
    assert_eq!(refused + accepted, GREEDY, "{greedy:?}");
    assert!(refused > 0 && accepted > 0, "{refused} refused, {accepted} accepted");
    let wrong: Vec<_> = others.iter().filter(|(status, ..)| *status != 202).collect();
    assert!(wrong.is_empty(), "{wrong:?}");

    over(&machine).await;
    let answered = |id: &Value| status_of(&machine, id) == "completed";
    assert!(others.iter().all(|(.., body)| answered(&body["runId"])));
    let of_greedy = greedy.iter().filter(|(status, ..)| *status == 202);
    assert!(of_greedy.map(|(.., body)| body).all(|body| answered(&body["runId"])));
    assert!(bot.terminate().await.success());
}

/// The status in a run's record.
fn status_of(machine: &Machine, id: &Value) -> Value {
    machine.state.ask("/runs/get", json!({ "id": id }))["record"]["status"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_runs_survive_a_kill() {
    let config = "[limits]\nruns = 1\n".to_owned();
    let setup = Setup { config, ..Setup::default() };
    let is_mended = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&is_mended);
    let answer = move |_: &Value| {
        if answers.load(Ordering::Relaxed) { Reply::text(ANSWER) } else { Reply::silent() }
    };
    let machine = Machine::with(PROGRAM, setup, answer).await;
    let mut bot = machine.bot().await;
    let client = reqwest::Client::new();
    let mut ids = Vec::new();
    for thread in 0..3 {
        let body = json!({ "text": "agent:general question", "thread": format!("t{thread}"), "async": true });
        let (status, _, body) = ask(&client, bot.url().unwrap(), secrets::INGRESS, body).await;
        assert_eq!(status, 202, "{body}");
        ids.push(body["runId"].clone());
    }
    until("the first run calls its model", || machine.vendor.request_count() == 1).await;
    let waiting = machine.state.live().iter().filter(|row| row["state"]["queued"].is_object()).count();
    assert_eq!(waiting, 2);
    bot.signal(Signal::KILL);
    bot.ended().await;

    is_mended.store(true, Ordering::Relaxed);
    lapse(&machine).await;
    let mut next = machine.bot().await;
    over(&machine).await;
    for id in &ids[1..] {
        assert_eq!(status_of(&machine, id), "completed");
        let events = machine.state.ask("/runs/get", json!({ "id": id }))["record"]["events"].clone();
        let inputs = events.as_array().unwrap().iter().filter(|event| event["type"] == "input").count();
        assert_eq!(inputs, 1, "{events}");
    }
    assert!(next.terminate().await.success());
}
