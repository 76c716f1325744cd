//! What the ledger promises, each promise by itself and from the store's own answers: the model has no say here.

mod events;
mod finish;
mod owners;

use ars_testkit::ledger::{Name, Observer, Sequence, Subject as _, World, play};
use proptest::test_runner::{TestCaseError, TestCaseResult};
use serde_json::{Value, json};

use crate::native::Native;

/// Sequences for each promise.
const CASES: u32 = 400;

/// Plays a sequence under a promise's eyes.
fn hold(world: &World, sequence: &Sequence, mut promise: impl Observer<Native>) -> TestCaseResult {
    play(&mut Native::new(), &mut promise, world, sequence).map_err(TestCaseError::fail)
}

/// An answer that must be 200.
fn ask(native: &mut Native, path: &str, body: Value, now: i64) -> Value {
    let mut body = body;
    body["storeKey"] = json!("runs:default");
    let (status, answer) = native.call(path, &body, now);
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

/// The rows of live runs.
fn live(native: &mut Native, now: i64) -> Vec<Value> {
    ask(native, "/runs/live", json!({}), now)["runs"].as_array().unwrap().clone()
}

/// The row of a live run.
fn row(rows: &[Value], run: Name) -> Option<&Value> {
    rows.iter().find(|row| row["runId"] == run)
}

/// An error that says what is wrong, unless nothing is.
fn holds(right: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if right { Ok(()) } else { Err(wrong()) }
}
