//! Replaces the dispatcher's state as a whole.

use ars_sql::{Sql, Value};
use ars_store::StoreFailure;

use super::{
    answers::OK,
    fence::{generation, run},
    request::{OwnerWrite, object},
};
use crate::RunStore;

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/state` request.
    pub(crate) fn state(&self, body: &str) -> Result<String, StoreFailure> {
        let write = OwnerWrite::read(body)?;
        let state = object(&write.body, "state")?;
        let statement =
            "UPDATE live_runs SET state = ?3 WHERE run_id = ?1 AND owner_gen = ?2 RETURNING 1";
        self.owned(
            &write,
            statement,
            &[run(&write), generation(&write), Value::from(state)],
        )?;
        Ok(OK.to_owned())
    }
}
