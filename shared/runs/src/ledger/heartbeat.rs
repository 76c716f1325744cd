//! Extends the owner's lease from the store's clock.
//! The answer, `{ ok, stop, phase, stopActor? }`, has any stop request.

use ars_sql::{Sql, Value};
use ars_store::StoreFailure;
use ars_types::UnixMillis;

use super::{
    fence::{generation, run},
    request::{OwnerWrite, lease_ms},
};
use crate::RunStore;

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/heartbeat` request.
    pub(crate) fn heartbeat(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let write = OwnerWrite::read(body)?;
        let until = now.saturating_add(lease_ms(&write.body)?);
        let statement = "UPDATE live_runs SET lease_until = ?3 WHERE run_id = ?1 AND owner_gen = ?2 \
                         RETURNING iif(stop_actor IS NULL, \
                         json_object('ok', json('true'), 'stop', stop, 'phase', phase), \
                         json_object('ok', json('true'), 'stop', stop, 'phase', phase, \
                         'stopActor', json(stop_actor)))";
        let row = self.owned(
            &write,
            statement,
            &[run(&write), generation(&write), Value::from(until)],
        )?;
        Ok(row.into_text(0)?)
    }
}
