//! A process is killed between claiming an `Idempotency-Key` and the repeated request.

use ars_tests_drills::{Coding, Machine};
use serde_json::{Value, json};

use crate::{
    PROGRAM,
    checks::{no_command_ran_twice, only_record},
    kills::{dies, lapse},
};

const KEY: &str = "one-request";

/// Kills the first request's process at this point and returns the run's status. Two repeated
/// requests get the same run, and nothing runs twice.
async fn repeated_after(death: &str) -> String {
    let machine = Machine::new(PROGRAM, Coding::answer).await;
    let body = json!({ "text": "do the work" });
    let mut first = machine.bot_that_dies_at(death).await;
    let asked = first.ask_with_key(&body, KEY);
    dies(&machine, &mut first).await.unwrap();
    let first_answer = asked.await.unwrap().ok();
    lapse(&machine).await;

    let mut next = machine.bot().await;
    let (status, answer) = next.ask_with_key(&body, KEY).await.unwrap().unwrap();
    assert_eq!(status, 200, "{answer}");
    if let Some(first_answer) = first_answer {
        assert_eq!(first_answer, (200, answer.clone()));
    }
    let requests = machine.vendor.request_count();
    let again = next.ask_with_key(&body, KEY).await.unwrap().unwrap();
    assert_eq!(again, (200, answer.clone()));
    assert_eq!(
        machine.vendor.request_count(),
        requests,
        "the repeated request reached the model"
    );
    assert!(next.terminate().await.success(), "{}", next.log());

    let record = only_record(&machine).unwrap();
    assert_eq!(
        answer["run"],
        json!({ "id": record["id"], "status": record["status"] })
    );
    let events = record["events"].as_array().unwrap();
    let stored = events
        .iter()
        .rev()
        .find(|event| event["type"] == "answer")
        .map(|event| &event["text"]);
    assert_eq!(stored.unwrap_or(&answer["reply"]), &answer["reply"]);
    no_command_ran_twice(&machine).unwrap();
    record["status"]
        .as_str()
        .map(str::to_owned)
        .unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_survives_a_kill_after_its_claim() {
    assert_eq!(repeated_after("ledger.claim.after:1").await, "interrupted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_survives_a_kill_during_work() {
    assert_eq!(repeated_after("workspace.exec.after:1").await, "completed");
}

/// The caller may have its answer already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_survives_a_kill_after_its_record() {
    assert_eq!(repeated_after("ledger.finish.after:1").await, "completed");
}

/// The claim was lost, so the next request with that key is the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_of_a_lost_claim_is_free() {
    let machine = Machine::new(PROGRAM, Coding::answer).await;
    let body = json!({ "text": "do the work" });
    let mut first = machine.bot_that_dies_at("ledger.claim.before:1").await;
    let broken_off = first.ask_with_key(&body, KEY);
    dies(&machine, &mut first).await.unwrap();
    broken_off.await.unwrap().unwrap_err();
    let mut next = machine.bot().await;
    let (status, answer): (u16, Value) = next.ask_with_key(&body, KEY).await.unwrap().unwrap();
    assert_eq!(
        (status, &answer["run"]["status"]),
        (200, &json!("completed")),
        "{answer}"
    );
    next.terminate().await;
    assert_eq!(only_record(&machine).unwrap()["id"], answer["run"]["id"]);
}
