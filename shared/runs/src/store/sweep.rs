//! The periodic sweep: everything hidden goes, some of it at a time (state-worker supplement section 7.2).

use ars_sql::{Sql, SqlError};
use ars_types::UnixMillis;

use super::{RunStore, trim};

/// Runs deleted by one call. The specification sets no fence here; the platform does, by the time a call may take.
pub(super) const AT_MOST: i64 = 1000;

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
    /// Deletes runs that the policy hides, the oldest first, and when there are no more, events of no run. Answers how
    /// many runs went; as many as [`AT_MOST`] means that there may be more.
    pub(super) fn sweep_hidden(&self, now: UnixMillis) -> Result<i64, SqlError> {
        self.sql.transaction(|| {
            trim::recount(&self.sql)?;
            trim::settle(&self.sql)?;
            let deleted = trim::delete_hidden(&self.sql, AT_MOST, now)?;
            if deleted < AT_MOST {
                self.sql.execute(DELETE_ORPHANS, &[])?;
            }
            Ok(deleted)
        })
    }
}
