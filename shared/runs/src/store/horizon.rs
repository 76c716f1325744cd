//! The boundary between visible and hidden runs.
//!
//! Age, count and bytes all exclude from the oldest end, so the hidden rows are those up to a
//! single position in (finish, id) order. Age depends on the reader's clock. Count and bytes change
//! only on a write, and the newest row that they exclude is stored as the `floor` in the
//! `retention` table.

use ars_sql::{Sql, SqlError};

use crate::retention::Policy;

/// SQL for the newest hidden position; parameter 1 is the time. Run ids are never empty, so a run
/// that finished exactly at the age limit is visible. All limits share a single position, because
/// an index can be searched from it.
macro_rules! horizon {
    () => {
        "SELECT max(oldest, floor_at), iif(oldest > floor_at, '', floor_id) FROM \
         (SELECT floor_at, floor_id, ?1 - 86400000 * retention_days AS oldest FROM retention)"
    };
}

/// Condition for a visible row.
pub(super) const VISIBLE: &str = concat!("(finished_at, id) > (", horizon!(), ")");
/// Condition for a hidden row.
pub(super) const HIDDEN: &str = concat!("(finished_at, id) <= (", horizon!(), ")");
/// Selects the newest hidden position.
pub(super) const HORIZON: &str = horizon!();

/// Reads the accepted policy.
pub(super) fn policy(sql: &impl Sql) -> Result<Policy, SqlError> {
    let rows = sql.query(
        "SELECT retention_days, max_runs, max_bytes FROM retention",
        &[],
    )?;
    let row = rows.first().ok_or_else(no_policy)?;
    Ok(Policy::fill(
        Some(row.real(0)?),
        Some(row.real(1)?),
        Some(row.real(2)?),
    ))
}

fn no_policy() -> SqlError {
    SqlError::Shape("retention has no row".into())
}
