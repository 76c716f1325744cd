//! Live runs, all or a single thread's run, earliest start first: `{ runs }`.

use ars_sql::{Sql, Value};
use ars_store::{StoreFailure, add_texts, json::parse_body, request::short_text};

use super::{
    claim::MAX_THREAD_CHARS,
    row::{TABLES, row_sql},
};
use crate::RunStore;

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/live` request.
    pub(crate) fn live(&self, body: &str) -> Result<S::Text, StoreFailure> {
        let body = parse_body(body)?;
        let thread = short_text(&body, "threadKey", MAX_THREAD_CHARS)?;
        let (of_thread, params) = match thread {
            Some(thread) => (
                "WHERE live.thread_key = ?1",
                vec![Value::from(thread.as_str())],
            ),
            None => ("", Vec::new()),
        };
        let statement = format!(
            "SELECT {} FROM {TABLES} {of_thread} ORDER BY live.started_at, live.run_id",
            row_sql()
        );
        // Row by row: each may hold a system prompt with half a megabyte, and SQLite limits a
        // single value's size.
        let mut answer = S::Text::from(r#"{"runs":["#.to_owned());
        add_texts(self.sql(), &statement, &params, &mut answer)?;
        answer.extend(["]}"]);
        Ok(answer)
    }
}
