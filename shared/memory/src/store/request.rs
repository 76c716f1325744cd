//! Fields that several bodies share.

use serde_json::{Map, Value as Json};

use ars_store::{
    Refusal,
    request::{integer, short_text},
};

use crate::Query;

/// Maximum number of records in a response.
const MAX_LIMIT: i64 = 50;
/// Maximum length of a query in characters.
const MAX_QUERY_CHARS: usize = 4000;

/// Returns the scope key, which the shell has checked and used to select the store.
pub(super) fn scope_key(body: &Map<String, Json>) -> Result<&str, Refusal> {
    let key = body.get("scopeKey").and_then(Json::as_str);
    key.ok_or_else(|| Refusal::field("scopeKey", "must be a string"))
}

/// Returns the limit, which has no default.
pub(super) fn limit(body: &Map<String, Json>) -> Result<i64, Refusal> {
    let rule = "must be an integer from 1 to 50";
    integer(body, "limit", 1..=MAX_LIMIT, rule)?.ok_or_else(|| Refusal::field("limit", rule))
}

/// Returns the query in a body.
pub(super) fn query(body: &Map<String, Json>) -> Result<Option<Query>, Refusal> {
    Ok(short_text(body, "query", MAX_QUERY_CHARS)?.map(|text| Query::new(&text)))
}
