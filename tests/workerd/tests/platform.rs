//! What the code relies on of the edge platform, shown on the real runtime (docs/platform.md names each of these).
//!
//! Through the fixture Worker; the shipped one is tested in `state_worker/main.rs`.

use std::thread;
use std::time::{Duration, Instant};

use ars_tests_workerd::{Client, fixture};
use serde_json::{Value, json};

/// Longest wait for an alarm, which is set at most 1.5 s ahead.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is asked for.
const LOOK: Duration = Duration::from_millis(20);

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
fn a_transaction_that_fails_leaves_nothing_and_returns_its_own_error() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/rollback"), json!(["on purpose", 0]));
    assert_eq!(ask(&worker.client, "/object/rollback-of-sqlite"), json!(["engine", 0]));
    // And the object goes on working.
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
fn values_cross_unchanged_and_a_parameter_is_a_double_until_a_column_makes_it_an_integer() {
    let worker = fixture();
    let expected =
        json!({ "unchanged": true, "column": "integer", "parameter": "real", "beyondRefused": true });
    assert_eq!(ask(&worker.client, "/object/values"), expected);
}

/// Asks until the alarm has rung.
fn rings(client: &Client) {
    let until = Instant::now() + PATIENCE;
    while ask(client, "/object/alarm/rung") != json!(1) {
        assert!(Instant::now() < until, "the alarm did not ring");
        thread::sleep(LOOK);
    }
}

#[test]
fn an_alarm_wakes_the_object() {
    let worker = fixture();
    ask(&worker.client, "/object/alarm/set");
    rings(&worker.client);
}

#[test]
fn an_alarm_that_was_set_before_a_kill_rings_after_the_restart() {
    let mut worker = fixture();
    // Far enough ahead that it cannot ring before the kill, near enough to wait for.
    ask(&worker.client, "/object/alarm/set-ahead");
    assert_eq!(ask(&worker.client, "/object/alarm/rung"), json!(0));
    worker.kill_and_restart();
    rings(&worker.client);
}

#[test]
fn a_panic_in_an_object_leaves_the_worker_answering_and_the_data_intact() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/note"), json!(1));
    let answer = worker.client.post_bytes("/object/panic", "", b"");
    assert_eq!((answer.status, &answer.body["error"]), (500, &json!("internal")));
    // What the handler wrote before it panicked is there too: a panic is no rollback.
    assert_eq!(ask(&worker.client, "/object/notes"), json!(2));
    assert_eq!(ask(&worker.client, "/object/note"), json!(3));
}

#[test]
fn a_panic_in_a_worker_leaves_it_and_its_objects_answering() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/note"), json!(1));
    let answer = worker.client.get("/worker/panic");
    assert_eq!((answer.status, &answer.body["error"]), (500, &json!("internal")));
    assert_eq!(worker.client.get("/healthz").status, 200);
    assert_eq!(ask(&worker.client, "/object/notes"), json!(1));
}

#[test]
fn a_panic_in_a_transaction_rolls_it_back_and_the_object_answers_in_a_new_instance() {
    let worker = fixture();
    assert_eq!(ask(&worker.client, "/object/note"), json!(1));
    let answer = worker.client.post_bytes("/object/panic-in-transaction", "", b"");
    assert_eq!((answer.status, &answer.body["error"]), (500, &json!("internal")));
    assert_eq!(ask(&worker.client, "/object/note"), json!(2));
}

#[test]
fn a_panic_at_an_alarm_leaves_the_object_answering_and_the_alarm_rings_again() {
    let worker = fixture();
    ask(&worker.client, "/object/alarm/panic");
    // Each look is a request to the object that has panicked, or is about to.
    rings(&worker.client);
    assert!(worker.log().contains("on purpose"), "{}", worker.log());
}
