//! Configuration documents (state-worker supplement section 14).

pub mod get;
pub mod put;

use serde_json::{Value, json};

/// The body of a put.
fn replacing(version: u64, document: Value) -> Value {
    json!({ "document": document, "expectedVersion": version })
}
