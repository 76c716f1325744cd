//! Rejects a writer that does not own the run.

use ars_sql::{Sql, SqlError, Value};
use ars_store::{Refusal, StoreFailure};

use super::request::OwnerWrite;
use crate::RunStore;

/// Another generation owns the run, or the phase forbids the write.
pub(crate) const FENCED: &str = r#"{"ok":false,"reason":"fenced"}"#;
/// The run is not live.
pub(crate) const UNKNOWN_RUN: &str = r#"{"ok":false,"reason":"unknown-run"}"#;

impl<S: Sql> RunStore<S> {
    /// Rejects a write by any generation but the owner.
    pub(super) fn check_owner(&self, write: &OwnerWrite) -> Result<(), StoreFailure> {
        let owned = "SELECT 1 FROM live_runs WHERE run_id = ? AND owner_gen = ?";
        self.owned(write, owned, &[run(write), generation(write)])
            .map(drop)
    }

    /// Runs an owner write's single statement. It yields a row if the condition held.
    pub(super) fn owned(
        &self,
        write: &OwnerWrite,
        statement: &str,
        params: &[Value],
    ) -> Result<ars_sql::Row, StoreFailure> {
        match self.sql().query(statement, params)?.into_iter().next() {
            Some(row) => Ok(row),
            None if self.is_live(write.run.as_str())? => Err(Refusal::conflict(FENCED).into()),
            None => Err(Refusal::conflict(UNKNOWN_RUN).into()),
        }
    }

    /// Returns whether the run is live.
    pub(crate) fn is_live(&self, id: &str) -> Result<bool, SqlError> {
        let statement = "SELECT 1 FROM live_runs WHERE run_id = ?";
        Ok(!self.sql().query(statement, &[Value::from(id)])?.is_empty())
    }
}

/// Returns the run id as a parameter.
pub(super) fn run(write: &OwnerWrite) -> Value {
    Value::from(write.run.as_str())
}

/// Returns the generation as a parameter.
pub(super) fn generation(write: &OwnerWrite) -> Value {
    Value::from(write.generation.as_str())
}
