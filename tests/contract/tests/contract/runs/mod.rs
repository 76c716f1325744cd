//! Finished runs.

pub mod delete;
pub mod events;
pub mod get;
pub mod list;
pub mod put;
pub mod summary;

mod visible_to;

use serde_json::{Value, json};

use ars_tests_contract::WRONG;

/// Returns invalid run ids.
fn wrong_ids() -> Vec<Value> {
    vec![json!(null), json!(7), json!(""), json!(WRONG), json!("x".repeat(65)), json!("a/b"), json!("é")]
}
