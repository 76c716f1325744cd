//! Transcripts of live runs. Each case has a separate run.

pub mod clear;
pub mod owner;
pub mod read;
pub mod write;

use serde_json::{Value, json};

use ars_tests_contract::WRONG;

/// Returns the body that makes `g1` the owner.
fn owner() -> Value {
    json!({ "gen": "g1" })
}

/// Returns invalid generations.
fn wrong_generations() -> Vec<Value> {
    vec![json!(null), json!(7), json!(""), json!(WRONG), json!("x".repeat(129)), json!("g/1"), json!("é")]
}

/// Returns a part.
fn row(idx: i64, part: i64, text: &str) -> Value {
    json!({ "idx": idx, "part": part, "json": text })
}

/// Returns an attachment.
fn attachment(name: &str, data: &str) -> Value {
    json!({ "ref": name, "mediaType": "image/png", "data": data })
}

/// Returns the body of a write by `g1`.
fn write(rows: Value, attachments: Value) -> Value {
    json!({ "gen": "g1", "rows": rows, "attachments": attachments })
}
