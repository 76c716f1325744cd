//! Many clients at once, including a greedy client, and connections and identifiers beyond limits.
//! Every other client gets its answer.

use std::{net::SocketAddr, time::Duration};

use ars_raw_http::overload::{CLIENTS, IDENTIFIERS, LONG, TEXT, UNFINISHED, Unfinished, quantile};
use ars_testkit::Reply;
use ars_tests_drills::{Bot, Machine, Setup, TIMEOUT, secrets};
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::{task::spawn_blocking, time::Instant};

use crate::{PROGRAM, hostile_repository::plain_user, kills::over};

/// Clients with their own tokens.
const OTHERS: usize = CLIENTS - 1;
/// Requests from the greedy client.
const GREEDY: usize = 150;
/// Requests at once: from the greedy client, and from all others together.
const AT_ONCE: [usize; 2] = [24, 12];

/// An answer to a request.
struct Answered {
    status: u16,
    /// Whether it names when to try again.
    has_time: bool,
    body: Value,
    took: Duration,
}

fn token(client: usize) -> String {
    format!("client-{client}")
}

/// Returns the tokens of the clients beside the greedy client.
fn tokens() -> String {
    let mut tokens = json!({ secrets::INGRESS: { "subject": "greedy" } });
    for client in 0..OTHERS {
        tokens[token(client)] = json!({ "subject": token(client) });
    }
    tokens.to_string()
}

async fn machine() -> Machine {
    let environment = vec![("SERVICE_INGRESS_TOKENS", tokens())];
    let config = "[limits]\nrequestsPerMinute = 60\nrunsPerCaller = 2\nruns = 8\n".to_owned();
    let setup = Setup {
        environment,
        config,
        user: plain_user(),
        ..Setup::default()
    };
    Machine::with(PROGRAM, setup, |_| Reply::text("Here is the answer.")).await
}

async fn ask(client: &reqwest::Client, bot: &Bot, token: &str, body: Value) -> Answered {
    let began = Instant::now();
    let url = format!("{}/ingress", bot.url().unwrap());
    let response = client
        .post(url)
        .bearer_auth(token)
        .json(&body)
        .send()
        .await
        .unwrap();
    let has_time = response.headers().contains_key("retry-after");
    let status = response.status().as_u16();
    let body = response.json().await.unwrap();
    Answered {
        status,
        has_time,
        body,
        took: began.elapsed(),
    }
}

/// Sends the greedy client's requests.
async fn ask_greedily(client: &reqwest::Client, bot: &Bot, round: &str) -> Vec<Answered> {
    let asked = (0..GREEDY).map(async |number| {
        let thread = format!("greedy-{round}-{number}");
        let body = json!({ "text": TEXT, "thread": thread, "async": true });
        ask(client, bot, secrets::INGRESS, body).await
    });
    stream::iter(asked)
        .buffer_unordered(AT_ONCE[0])
        .collect()
        .await
}

/// Asks by every client once, each in a separate thread.
async fn ask_by_all(client: &reqwest::Client, bot: &Bot, round: &str) -> Vec<Answered> {
    let asked = (0..OTHERS).map(async |number| {
        let thread = format!("{round}-{number}");
        let body = json!({ "text": TEXT, "thread": thread, "async": true });
        ask(client, bot, &token(number), body).await
    });
    stream::iter(asked)
        .buffer_unordered(AT_ONCE[1])
        .collect()
        .await
}

fn p99(answered: &[Answered]) -> Duration {
    quantile(answered.iter().map(|answered| answered.took).collect(), 99)
}

/// Prints how much longer the others wait under a load.
fn report(load: &str, idle: &[Answered], busy: &[Answered]) {
    let (idle, busy) = (p99(idle), p99(busy));
    let ratio = busy.as_secs_f64() / idle.as_secs_f64();
    eprintln!("p99 of the others: {idle:?} without, {busy:?} with {load}: {ratio:.1} times");
}

fn assert_accepted(answered: &[Answered]) {
    let wrong = answered.iter().filter(|answered| answered.status != 202);
    let wrong: Vec<_> = wrong
        .map(|answered| (answered.status, &answered.body))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn greedy_client_is_refused_and_others_are_served() {
    let machine = machine().await;
    let mut bot = machine.bot().await;
    let client = reqwest::Client::new();
    let idle = ask_by_all(&client, &bot, "idle").await;
    over(&machine).await;

    let asked = async {
        tokio::join!(
            ask_greedily(&client, &bot, "busy"),
            ask_by_all(&client, &bot, "busy")
        )
    };
    let (greedy, busy) = tokio::time::timeout(TIMEOUT, asked).await.unwrap();
    let refused = greedy
        .iter()
        .filter(|answered| answered.status == 429 && answered.has_time)
        .count();
    let accepted: Vec<_> = greedy
        .iter()
        .filter(|answered| answered.status == 202)
        .collect();
    assert_eq!(refused + accepted.len(), GREEDY);
    assert!(
        refused > 0 && !accepted.is_empty(),
        "{refused} refused, {} accepted",
        accepted.len()
    );
    assert_accepted(&idle);
    assert_accepted(&busy);
    report("the greedy client", &idle, &busy);
    eprintln!("{refused} requests of the greedy client refused");

    over(&machine).await;
    for answered in busy.iter().chain(accepted) {
        let id = &answered.body["runId"];
        let record = machine.state.ask("/runs/get", json!({ "id": id }))["record"].clone();
        assert_eq!(record["status"], "completed", "{id}");
    }
    assert!(bot.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_requests_do_not_block_others() {
    let machine = machine().await;
    let mut bot = machine.bot().await;
    let client = reqwest::Client::new();
    let idle = ask_by_all(&client, &bot, "idle").await;
    assert_accepted(&idle);
    over(&machine).await;
    let address: SocketAddr = bot
        .url()
        .unwrap()
        .trim_start_matches("http://")
        .parse()
        .unwrap();
    let held = spawn_blocking(move || Unfinished::open(address, UNFINISHED))
        .await
        .unwrap();
    let [peers, of_each] = UNFINISHED;
    assert!(
        held.opened() > peers * of_each / 8,
        "{} connections",
        held.opened()
    );

    assert!(bot.read("/healthz").await.contains("\"ok\":true"));
    // New connections: those from the first round are open already.
    let client = reqwest::Client::new();
    let (_, answered) = tokio::join!(
        ask_greedily(&client, &bot, "held"),
        ask_by_all(&client, &bot, "held")
    );
    assert_accepted(&answered);
    eprintln!(
        "{} requests begun, {} connections not refused",
        peers * of_each,
        held.opened()
    );
    report(
        "unfinished requests and the greedy client",
        &idle,
        &answered,
    );
    drop(held);
    over(&machine).await;
    assert!(bot.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversize_identifiers_are_rejected() {
    let machine = machine().await;
    let mut bot = machine.bot().await;
    let client = reqwest::Client::new();
    let long = "x".repeat(LONG);
    for field in IDENTIFIERS {
        let mut body = json!({ "text": TEXT });
        body[field] = json!(long);
        let answered = ask(&client, &bot, secrets::INGRESS, body).await;
        let text = answered.body.to_string();
        assert_eq!(
            answered.status,
            400,
            "{field}: {}",
            &text[..text.len().min(200)]
        );
        assert!(
            text.contains(field) && text.len() < 1_000,
            "{field}: {} bytes",
            text.len()
        );
    }
    assert!(machine.state.records().is_empty());
    assert!(bot.terminate().await.success());
}
