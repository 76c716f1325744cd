//! Each ledger guarantee, checked by the store's responses alone, without the model.

mod events;
mod finish;
mod owners;

use ars_testkit::ledger::{Name, Observer, Sequence, Subject as _, World, play};
use proptest::test_runner::{TestCaseError, TestCaseResult};
use serde_json::{Value, json};

use crate::native::Native;

/// Number of sequences per guarantee.
const CASES: u32 = 400;

/// Plays a sequence while an observer checks the guarantee.
fn hold(world: &World, sequence: &Sequence, mut promise: impl Observer<Native>) -> TestCaseResult {
    play(&mut Native::new(), &mut promise, world, sequence).map_err(TestCaseError::fail)
}

/// Sends a request that must succeed with 200.
fn ask(native: &mut Native, path: &str, body: Value, now: i64) -> Value {
    let mut body = body;
    body["storeKey"] = json!("runs:default");
    let (status, answer) = native.call(path, &body, now);
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

/// Returns the live runs' rows.
fn live(native: &mut Native, now: i64) -> Vec<Value> {
    ask(native, "/runs/live", json!({}), now)["runs"]
        .as_array()
        .unwrap()
        .clone()
}

/// Returns a live run's row.
fn row(rows: &[Value], run: Name) -> Option<&Value> {
    rows.iter().find(|row| row["runId"] == run)
}

/// Returns an error unless the condition holds.
fn holds(right: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if right { Ok(()) } else { Err(wrong()) }
}
