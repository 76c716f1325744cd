//! The periodic sweep: deletes hidden rows in bounded batches.

use ars_sql::{Sql, SqlError};
use ars_types::UnixMillis;

use super::{RunStore, trim};

/// Maximum number of runs that a call deletes. It bounds how long the call takes on the platform.
pub(super) const AT_MOST: i64 = 1000;

/// Deletes events whose run has no row and is not live. Steps from run to run along the key instead
/// of reading every event.
const DELETE_ORPHANS: &str = "WITH RECURSIVE held (run_id) AS (\
    SELECT min(run_id) FROM run_events \
    UNION ALL \
    SELECT (SELECT min(run_id) FROM run_events WHERE run_id > held.run_id) FROM held WHERE run_id IS NOT NULL) \
    DELETE FROM run_events WHERE run_id IN (\
    SELECT run_id FROM held WHERE run_id IS NOT NULL AND run_id NOT IN (SELECT id FROM runs) \
    AND run_id NOT IN (SELECT run_id FROM live_runs))";

impl<S: Sql> RunStore<S> {
    /// Deletes hidden runs, oldest first, and then orphaned events. Returns how many runs were
    /// deleted. [`AT_MOST`] means that there may be more.
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
