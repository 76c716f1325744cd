//! The events appended to a run after an optional seq, in seq order: `{ events }`.
//!
//! For a finished run these are its record's events, for an unknown run an empty list.

use ars_sql::Sql;
use ars_store::{StoreFailure, json::parse_body, request::required_run_id};
use ars_types::UnixMillis;

use crate::{RunStore, store::after_seq};

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/live-events` request.
    pub(crate) fn live_events(&self, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let body = parse_body(body)?;
        let id = required_run_id(&body, "runId")?;
        let after = after_seq(&body)?;
        if !self.is_live(id.as_str())? && !self.is_visible(&id, now)? {
            return Ok(S::Text::from(r#"{"events":[]}"#.to_owned()));
        }
        let mut answer = S::Text::from(r#"{"events":["#.to_owned());
        self.add_events(&id, after, &mut answer)?;
        answer.extend(["]}"]);
        Ok(answer)
    }
}
