//! The periodic sweep: everything hidden goes, without a fence (state-worker supplement section 7.2).

use ars_sql::{Sql, SqlError};
use ars_types::UnixMillis;

use super::{RunStore, trim};

/// Events of runs that have no row and do not live. Walks from run to run along the key instead of reading every
/// event.
const DELETE_ORPHANS: &str = "WITH RECURSIVE held (run_id) AS (\
    SELECT min(run_id) FROM run_events \
    UNION ALL \
    SELECT (SELECT min(run_id) FROM run_events WHERE run_id > held.run_id) FROM held WHERE run_id IS NOT NULL) \
    DELETE FROM run_events WHERE run_id IN (\
    SELECT run_id FROM held WHERE run_id IS NOT NULL AND run_id NOT IN (SELECT id FROM runs) \
    AND run_id NOT IN (SELECT run_id FROM live_runs))";

impl<S: Sql> RunStore<S> {
    /// Deletes every run the policy hides, and events of no run. Answers how many runs went.
    pub(super) fn sweep_hidden(&self, now: UnixMillis) -> Result<i64, SqlError> {
        self.sql.transaction(|| {
            trim::settle(&self.sql)?;
            let deleted = trim::delete_hidden(&self.sql, trim::NO_FENCE, now)?;
            self.sql.execute(DELETE_ORPHANS, &[])?;
            Ok(deleted)
        })
    }
}
