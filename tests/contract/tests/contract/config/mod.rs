//! Configuration documents.

pub mod get;
pub mod put;

use serde_json::{Value, json};

/// Returns the body of a put.
fn replacing(version: u64, document: Value) -> Value {
    json!({ "document": document, "expectedVersion": version })
}
