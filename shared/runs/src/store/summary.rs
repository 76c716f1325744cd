//! A single run without its events: `{ summary }`, null if unknown, expired or hidden.
//!
//! Reads no event row.

use ars_sql::Sql;
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};
use ars_types::UnixMillis;

use super::RunStore;

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/summary` request.
    pub fn summary(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let id = required_run_id(&parse_body(body)?, "id")?;
        let summary = self.item(&self.listed, &id, now)?;
        Ok(format!(
            r#"{{"summary":{}}}"#,
            summary.as_deref().unwrap_or("null")
        ))
    }
}
