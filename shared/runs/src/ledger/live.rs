//! Every live run, earliest start first: `{ runs }`.

use ars_sql::Sql;
use ars_store::{StoreFailure, add_texts, json::parse_body};

use super::row::{TABLES, row_sql};
use crate::RunStore;

impl<S: Sql> RunStore<S> {
    /// Handles `/runs/live`.
    pub(crate) fn live(&self, body: &str) -> Result<S::Text, StoreFailure> {
        parse_body(body)?;
        let statement = format!("SELECT {} FROM {TABLES} ORDER BY live.started_at, live.run_id", row_sql());
        // Row by row: each may hold a system prompt of half a megabyte, and SQLite limits the size of one value.
        let mut answer = S::Text::from(r#"{"runs":["#.to_owned());
        add_texts(self.sql(), &statement, &[], &mut answer)?;
        answer.extend(["]}"]);
        Ok(answer)
    }
}
