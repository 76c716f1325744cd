//! Properties of the edge platform on which the code depends, on the real runtime (docs/platform.md lists them).
//!
//! Uses the fixture Worker. The shipped one is tested in `state_worker/main.rs`.

use std::thread;
use std::time::{Duration, Instant};

use ars_tests_workerd::{Client, fixture};
use serde_json::{Value, json};

/// Timeout for an alarm, which is set at most 1.5 s ahead.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

fn ask(client: &Client, path: &str) -> Value {
    let answer = client.post_bytes(path, "", b"");
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.body
}

#[test]
fn a_transaction_commits_everything() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/commit"), json!(["ok", 2]));
}

#[test]
fn failed_transaction_rolls_back_with_its_error() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/rollback"), json!(["on purpose", 0]));
    assert_eq!(ask(&worker.client, "/object/rollback-of-sqlite"), json!(["engine", 0]));
    // The object still works.
    assert_eq!(ask(&worker.client, "/object/commit"), json!(["ok", 2]));
}

#[test]
fn sql_text_cannot_begin_a_transaction() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/begin"), json!("refused"));
}

#[test]
fn full_text_search_ranks_by_bm25() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/search"), json!(["about", "passing"]));
}

#[test]
fn values_round_trip_and_parameters_are_doubles() {
    let worker = fixture();
    let expected =
        json!({ "unchanged": true, "column": "integer", "parameter": "real", "beyondRefused": true });
    assert_eq!(ask(&worker.client, "/object/values"), expected);
}

/// Waits until the alarm has fired.
fn wait_for_alarm(client: &Client) {
    let until = Instant::now() + TIMEOUT;
    while ask(client, "/object/alarm/rung") != json!(1) {
        assert!(Instant::now() < until, "the alarm did not ring");
        thread::sleep(POLL_INTERVAL);
    }
}

#[test]
fn an_alarm_wakes_the_object() {
    let worker = fixture();
    ask(&worker.client, "/object/alarm/set");
    wait_for_alarm(&worker.client);
}

#[test]
fn alarm_survives_a_kill() {
    let mut worker = fixture();
    // Far enough ahead that it cannot fire before the kill.
    ask(&worker.client, "/object/alarm/set-ahead");
    assert_eq!(ask(&worker.client, "/object/alarm/rung"), json!(0));
    worker.kill_and_restart();
    wait_for_alarm(&worker.client);
}

#[test]
fn object_panic_keeps_worker_and_data() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/note"), json!(1));
    let answer = worker.client.post_bytes("/object/panic", "", b"");
    assert_eq!((answer.status, &answer.body["error"]), (500, &json!("internal")));
    // Writes before the panic are kept, because a panic does not roll back.
    assert_eq!(ask(&worker.client, "/object/notes"), json!(2));
    assert_eq!(ask(&worker.client, "/object/note"), json!(3));
}

#[test]
fn worker_panic_keeps_worker_and_objects() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/note"), json!(1));
    let answer = worker.client.get("/worker/panic");
    assert_eq!((answer.status, &answer.body["error"]), (500, &json!("internal")));
    assert_eq!(worker.client.get("/healthz").status, 200);
    assert_eq!(ask(&worker.client, "/object/notes"), json!(1));
}

#[test]
fn transaction_panic_rolls_back_and_restarts_the_object() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/note"), json!(1));
    let answer = worker.client.post_bytes("/object/panic-in-transaction", "", b"");
    assert_eq!((answer.status, &answer.body["error"]), (500, &json!("internal")));
    assert_eq!(ask(&worker.client, "/object/note"), json!(2));
}

#[test]
fn alarm_panic_keeps_the_object_and_retries() {
    let worker = fixture();
    ask(&worker.client, "/object/alarm/panic");
    // Each poll is a request to an object that has panicked or is about to.
    wait_for_alarm(&worker.client);
    assert!(worker.log().contains("on purpose"), "{}", worker.log());
}
