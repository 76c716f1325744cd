//! Memory scopes. Each case has a separate scope.
//!
//! Records of one write share a time, so their order by score is exact. The times of two writes may be equal or not,
//! and no case depends on that.

pub mod forget;
pub mod list;
pub mod retrieve;
pub mod write;

use serde_json::{Value, json};

use ars_tests_contract::{WRONG, records::with};

/// Returns a minimal fact.
fn fact(text: &str) -> Value {
    json!({ "kind": "fact", "text": text, "sourceThreadKey": "http:C1:1" })
}

/// Returns a fact with keywords.
fn keyed(text: &str, keywords: &[&str]) -> Value {
    with(fact(text), json!({ "keywords": keywords }))
}

/// Returns the body of a write.
fn records(candidates: impl IntoIterator<Item = Value>) -> Value {
    json!({ "records": candidates.into_iter().collect::<Vec<_>>() })
}

/// Returns the body of a write of facts with these texts.
fn facts(texts: &[&str]) -> Value {
    records(texts.iter().map(|text| fact(text)))
}

/// Returns the body of a list of all records, newest first.
fn all() -> Value {
    json!({ "limit": 50 })
}

/// Returns invalid limits.
fn wrong_limits() -> Vec<Value> {
    vec![json!(null), json!(0), json!(-1), json!(51), json!(1.5), json!("5"), json!([5])]
}

/// Returns invalid queries.
fn wrong_queries() -> Vec<Value> {
    vec![json!(null), json!(7), json!([WRONG]), json!("é".repeat(4001))]
}
