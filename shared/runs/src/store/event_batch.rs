//! Writes event batches into the table shared by finished and live runs.
//!
//! Events are bound as few JSON objects from seq to event, which SQLite expands. Binding them
//! individually would cross the wasm boundary for each.

use std::fmt::{self, Write as _};

use ars_sql::{Sql, SqlError, Value};
use ars_types::RunId;

use super::RunStore;

/// Maximum event bytes in a parameter. A larger event gets a parameter alone.
const MAX_BATCH: usize = 1_000_000;

/// Events by seq, as JSON texts for SQLite.
#[derive(Default)]
pub(crate) struct EventBatch {
    full: Vec<String>,
    open: String,
}

impl EventBatch {
    /// Adds an event. Of two events with the same seq, the later wins.
    pub(crate) fn push(&mut self, seq: i64, event: &str) {
        self.push_by(format_args!("{seq}"), event);
    }

    /// Adds an event when several runs are written, for [`RunStore::write_owned_events`].
    pub(crate) fn push_of(&mut self, run: &RunId, seq: i64, event: &str) {
        // Run ids contain no slash.
        self.push_by(format_args!("{seq}/{run}"), event);
    }

    fn push_by(&mut self, key: fmt::Arguments<'_>, event: &str) {
        if !self.open.is_empty() && self.open.len() + event.len() > MAX_BATCH {
            self.open.push('}');
            self.full.push(std::mem::take(&mut self.open));
        }
        self.open.push(if self.open.is_empty() { '{' } else { ',' });
        // Writing to a string cannot fail.
        let _ = write!(self.open, "\"{key}\":{event}");
    }

    /// Returns whether a single statement writes the batch.
    pub(crate) fn is_one(&self) -> bool {
        self.full.is_empty()
    }

    /// Returns how many statements write the batch.
    pub(crate) fn statements(&self) -> usize {
        self.full.len() + usize::from(!self.open.is_empty())
    }

    fn into_texts(mut self) -> Vec<String> {
        if !self.open.is_empty() {
            self.open.push('}');
            self.full.push(self.open);
        }
        self.full
    }
}

impl<S: Sql> RunStore<S> {
    /// Writes events, replacing those with the same seqs.
    pub(crate) fn write_events(&self, run: &str, batch: EventBatch) -> Result<(), SqlError> {
        self.insert_events("REPLACE", run, batch)
    }

    /// Writes events for several runs that the generation owns, replacing those with the same seqs.
    pub(crate) fn write_owned_events(
        &self,
        generation: &Value,
        batch: EventBatch,
    ) -> Result<(), SqlError> {
        // CAST reads the leading digits, up to the slash.
        let statement = "INSERT OR REPLACE INTO run_events (run_id, seq, event) \
                         SELECT live.run_id, CAST(event.key AS INTEGER), event.value FROM json_each(?2) AS event \
                         CROSS JOIN live_runs AS live ON live.run_id = substr(event.key, instr(event.key, '/') + 1) \
                         WHERE live.owner_gen = ?1";
        for text in batch.into_texts() {
            self.sql()
                .execute(statement, &[generation.clone(), Value::from(text)])?;
        }
        Ok(())
    }

    /// Writes events with seqs that are not stored yet.
    pub(super) fn fill_in_events(&self, run: &str, batch: EventBatch) -> Result<(), SqlError> {
        self.insert_events("IGNORE", run, batch)
    }

    fn insert_events(
        &self,
        on_conflict: &str,
        run: &str,
        batch: EventBatch,
    ) -> Result<(), SqlError> {
        let statement = format!(
            "INSERT OR {on_conflict} INTO run_events (run_id, seq, event) \
             SELECT ?1, CAST(key AS INTEGER), value FROM json_each(?2)"
        );
        for text in batch.into_texts() {
            self.sql()
                .execute(&statement, &[Value::from(run), Value::from(text)])?;
        }
        Ok(())
    }
}
