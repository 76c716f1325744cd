//! Every live run, earliest start first: `{ runs }` (state-worker supplement section 9.3).

use ars_sql::{Sql, SqlError};
use ars_store::{StoreFailure, json::parse_body};

use super::row::{TABLES, row_sql};
use crate::RunStore;

impl<S: Sql> RunStore<S> {
    /// Answers `/runs/live`.
    pub(crate) fn live(&self, body: &str) -> Result<String, StoreFailure> {
        parse_body(body)?;
        let statement = format!("SELECT {} FROM {TABLES} ORDER BY live.started_at, live.run_id", row_sql());
        // Row by row: each may hold a system prompt of half a megabyte, and one value of SQLite has its limit.
        let rows = self.sql().query(&statement, &[])?;
        let rows = rows.into_iter().map(|row| row.into_text(0)).collect::<Result<Vec<_>, SqlError>>()?;
        Ok(format!(r#"{{"runs":[{}]}}"#, rows.join(",")))
    }
}
