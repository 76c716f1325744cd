//! The line between what readers see and what they do not (state-worker supplement section 7.1).
//!
//! Age, count and bytes all exclude from the oldest end, so the hidden rows are those up to one position in
//! (finish, id) order. Age is judged by the reader's clock; count and bytes move only when a write does, and the
//! newest row they exclude is kept as the `floor` of the `retention` table.

use ars_sql::{Sql, SqlError};

use crate::retention::Policy;

/// SQL of the newest hidden position, when parameter 1 is the time. No run's id is empty, so a run that finished just
/// at the age limit is past it. One position for all three limits, because an index can be searched from it.
macro_rules! horizon {
    () => {
        "(SELECT max(oldest, floor_at), iif(oldest > floor_at, '', floor_id) FROM \
         (SELECT floor_at, floor_id, ?1 - 86400000 * retention_days AS oldest FROM retention))"
    };
}

/// The condition of a row that readers see.
pub(super) const VISIBLE: &str = concat!("(finished_at, id) > ", horizon!());
/// The condition of every other row.
pub(super) const HIDDEN: &str = concat!("(finished_at, id) <= ", horizon!());

/// The accepted policy.
pub(super) fn policy(sql: &impl Sql) -> Result<Policy, SqlError> {
    let rows = sql.query("SELECT retention_days, max_runs, max_bytes FROM retention", &[])?;
    let row = rows.first().ok_or_else(no_policy)?;
    Ok(Policy::fill(Some(row.real(0)?), Some(row.real(1)?), Some(row.real(2)?)))
}

fn no_policy() -> SqlError {
    SqlError::Shape("retention has no row".into())
}
