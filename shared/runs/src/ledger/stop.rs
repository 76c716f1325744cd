//! Requests a live run to stop: `{ ok, ownerLive }`, or `{ ok: false }` if it is not live.
//! The owner receives the request with its next heartbeat. The last request wins.

use serde_json::Value as Json;

use ars_sql::{Sql, Value};
use ars_store::{Refusal, StoreFailure, json::parse_body, request::required_run_id};
use ars_types::{StopMode, UnixMillis};

use super::answers::NOT_LIVE;
use crate::RunStore;

impl<S: Sql> RunStore<S> {
    /// Handles `/runs/stop`.
    pub(crate) fn stop(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let id = required_run_id(&body, "runId")?;
        let mode = body.get("mode").and_then(Json::as_str).and_then(StopMode::parse);
        let mode = mode.ok_or_else(|| Refusal::field("mode", "must be soft or hard"))?;
        let statement = "UPDATE live_runs SET stop = ?2 WHERE run_id = ?1 RETURNING lease_until > ?3";
        let params = [Value::from(id.as_str()), Value::from(mode.as_str()), Value::from(now)];
        Ok(match self.sql().query(statement, &params)?.first() {
            Some(row) => format!(r#"{{"ok":true,"ownerLive":{}}}"#, row.integer(0)? == 1),
            None => NOT_LIVE.to_owned(),
        })
    }
}
