//! `/forget`: hides a record permanently. A sweep deletes the text later.
//!
//! A single statement, so it needs no transaction.

use ars_sql::{Sql, Value};
use ars_store::{Refusal, StoreFailure, json::parse_body};
use ars_types::{StoreKey, UnixMillis};
use serde_json::Value as Json;

use super::{MemoryStore, request};
use crate::record_id;

const FORGET: &str = "UPDATE memory_records SET status = 'forgotten', normalized = NULL, tokens = NULL, retired_at = ?2 \
    WHERE n = ?1 AND status = 'active' RETURNING n";

impl<S: Sql> MemoryStore<S> {
    /// Handles a `/forget` request.
    pub(super) fn forget(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let scope_key = request::scope_key(&body)?;
        // Ids follow the key grammar: 1 to 200 characters without white space and control
        // characters.
        let id = body
            .get("id")
            .and_then(Json::as_str)
            .and_then(|id| StoreKey::parse(id).ok());
        let rule = "must be 1 to 200 characters without white space or control characters";
        let id = id.ok_or_else(|| Refusal::field("id", rule))?;
        let forgotten = match record_id::number_in(scope_key, id.as_str()) {
            Some(n) => !self
                .sql
                .query(FORGET, &[Value::from(n), Value::from(now)])?
                .is_empty(),
            None => false,
        };
        Ok(format!(r#"{{"ok":true,"forgotten":{forgotten}}}"#))
    }
}
