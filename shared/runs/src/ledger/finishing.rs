//! Grants the reply permit, once: from phase `live`, or from a handoff that the owner finished first.

use ars_sql::Sql;
use ars_store::StoreFailure;

use super::{
    answers::OK,
    fence::{generation, run},
    request::OwnerWrite,
};
use crate::RunStore;

impl<S: Sql> RunStore<S> {
    /// Handles `/runs/finishing`. A second call is fenced, even by the same generation.
    pub(crate) fn finishing(&self, body: &str) -> Result<String, StoreFailure> {
        let write = OwnerWrite::read(body)?;
        let statement = "UPDATE live_runs SET phase = 'finishing' \
                         WHERE run_id = ?1 AND owner_gen = ?2 AND phase <> 'finishing' RETURNING 1";
        self.owned(&write, statement, &[run(&write), generation(&write)])?;
        Ok(OK.to_owned())
    }
}
