//! The fields that several bodies share (state-worker supplement section 2.1).

use serde_json::{Map, Value as Json};

use ars_store::{
    Refusal,
    request::{integer, short_text},
};

use crate::Query;

/// Records of one answer (document 2 section 8).
const MAX_LIMIT: i64 = 50;
/// Characters of a query (document 2 section 8).
const MAX_QUERY_CHARS: usize = 4000;

/// The scope's key. The shell has looked at it already, and has chosen the store by it.
pub(super) fn scope_key(body: &Map<String, Json>) -> Result<&str, Refusal> {
    let key = body.get("scopeKey").and_then(Json::as_str);
    key.ok_or_else(|| Refusal::field("scopeKey", "must be a string"))
}

/// How many records are wanted; there is no default.
pub(super) fn limit(body: &Map<String, Json>) -> Result<i64, Refusal> {
    let rule = "must be an integer from 1 to 50";
    integer(body, "limit", 1..=MAX_LIMIT, rule)?.ok_or_else(|| Refusal::field("limit", rule))
}

/// What is looked for.
pub(super) fn query(body: &Map<String, Json>) -> Result<Option<Query>, Refusal> {
    Ok(short_text(body, "query", MAX_QUERY_CHARS)?.map(|text| Query::new(&text)))
}
