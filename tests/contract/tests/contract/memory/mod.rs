//! Memory scopes (state-worker supplement section 2). Each case has a scope of its own.
//!
//! Records of one write have one time, so their order by score is exact; of two writes the later may be newer by a
//! millisecond or not, and no case depends on which.

pub mod forget;
pub mod list;
pub mod retrieve;
pub mod write;

use serde_json::{Value, json};

use ars_tests_contract::{WRONG, records::with};

/// A fact, as little as it may hold.
fn fact(text: &str) -> Value {
    json!({ "kind": "fact", "text": text, "sourceThreadKey": "http:C1:1" })
}

/// A fact with keywords.
fn keyed(text: &str, keywords: &[&str]) -> Value {
    with(fact(text), json!({ "keywords": keywords }))
}

/// The body of a write of these.
fn records(candidates: impl IntoIterator<Item = Value>) -> Value {
    json!({ "records": candidates.into_iter().collect::<Vec<_>>() })
}

/// The body of a write of facts with these texts.
fn facts(texts: &[&str]) -> Value {
    records(texts.iter().map(|text| fact(text)))
}

/// Everything, newest first.
fn all() -> Value {
    json!({ "limit": 50 })
}

/// What no limit may be.
fn wrong_limits() -> Vec<Value> {
    vec![json!(null), json!(0), json!(-1), json!(51), json!(1.5), json!("5"), json!([5])]
}

/// What no query may be.
fn wrong_queries() -> Vec<Value> {
    vec![json!(null), json!(7), json!([WRONG]), json!("é".repeat(4001))]
}
