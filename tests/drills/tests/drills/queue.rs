//! Runs that wait for a slot when their process is killed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ars_testkit::Reply;
use ars_tests_drills::{Machine, Setup, until};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    PROGRAM,
    kills::{lapse, over},
};

/// Requests, of which one runs and the others wait.
const REQUESTS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_runs_survive_a_kill() {
    let is_mended = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&is_mended);
    let answer = move |_: &Value| match answers.load(Ordering::Relaxed) {
        true => Reply::text("Here is the answer."),
        false => Reply::silent(),
    };
    let setup = Setup {
        config: "[limits]\nruns = 1\n".to_owned(),
        ..Setup::default()
    };
    let machine = Machine::with(PROGRAM, setup, answer).await;
    let mut bot = machine.bot().await;
    let mut ids = Vec::new();
    for number in 0..REQUESTS {
        let body = json!({ "text": format!("agent:general question {number}"), "thread": format!("t{number}"), "async": true });
        let (status, answer) = bot.ask(&body).await.unwrap().unwrap();
        assert_eq!(status, 202, "{answer}");
        ids.push(answer["runId"].clone());
    }
    until("the first run calls its model", || {
        machine.vendor.request_count() == 1
    })
    .await;
    let waiting = machine
        .state
        .live()
        .iter()
        .filter(|row| row["state"]["queued"].is_object())
        .count();
    assert_eq!(waiting, REQUESTS - 1);
    bot.signal(Signal::KILL);
    bot.ended().await;

    is_mended.store(true, Ordering::Relaxed);
    lapse(&machine).await;
    let mut next = machine.bot().await;
    over(&machine).await;
    assert!(next.terminate().await.success());
    let mut began = Vec::new();
    for (number, id) in ids.iter().enumerate() {
        let record = machine.state.ask("/runs/get", json!({ "id": id }))["record"].clone();
        assert_eq!(record["status"], "completed", "{number}: {record}");
        let events = record["events"].as_array().unwrap();
        let of = |kind: &str| {
            events
                .iter()
                .filter(|event| event["type"] == kind)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (of("input").len(), of("answer").len()),
            (1, 1),
            "{number}: {record}"
        );
        let text = format!("question {number}");
        assert_eq!(of("input")[0]["text"], text.as_str());
        let asked = machine.vendor.requests();
        let calls = asked
            .iter()
            .filter(|call| call.body["messages"].to_string().contains(&text))
            .count();
        // The model for the live run had not answered.
        assert_eq!(calls, 1 + usize::from(number == 0), "{number}");
        // The run that was live had published this event in the first process.
        began.extend(
            of("run_meta")
                .last()
                .filter(|_| number > 0)
                .map(|event| event["at"].as_i64().unwrap()),
        );
    }
    assert_eq!(began.len(), REQUESTS - 1);
    assert!(began.is_sorted(), "{began:?}");
}
