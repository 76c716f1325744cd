//! The line between what readers see and what they do not (state-worker supplement section 7.1).
//!
//! Age, count and bytes all exclude from the oldest end, so the hidden rows are those up to one position in
//! (finish, id) order. Age is judged by the reader's clock; count and bytes move only when a write does, and the
//! newest row they exclude is kept as the `floor` of the `retention` table.

use ars_sql::{Sql, SqlError, Value};
use ars_types::UnixMillis;

use crate::retention::{DAY_MS, Policy};

/// The condition of a row that readers see, on parameters 1 and 2.
pub(super) const VISIBLE: &str = "(finished_at, id) > (?1, ?2)";

/// The newest position that is hidden.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Horizon {
    at: f64,
    id: String,
}

impl Horizon {
    /// Of the store as it stands.
    pub fn read(sql: &impl Sql, now: UnixMillis) -> Result<Self, SqlError> {
        let rows = sql.query("SELECT retention_days, floor_at, floor_id FROM retention", &[])?;
        let row = rows.first().ok_or_else(no_policy)?;
        let floor = Self { at: row.real(1)?, id: row.text(2)?.to_owned() };
        Ok(floor.or_before(now as f64 - row.real(0)? * DAY_MS))
    }

    /// Also hides what finished before `cutoff`. No run's id is empty, so a run at the cutoff itself is visible.
    pub fn or_before(self, cutoff: f64) -> Self {
        if cutoff > self.at { Self { at: cutoff, id: String::new() } } else { self }
    }

    /// Values for [`VISIBLE`].
    pub fn params(&self) -> [Value; 2] {
        [Value::from(self.at), Value::from(self.id.as_str())]
    }
}

/// The accepted policy.
pub(super) fn policy(sql: &impl Sql) -> Result<Policy, SqlError> {
    let rows = sql.query("SELECT retention_days, max_runs, max_bytes FROM retention", &[])?;
    let row = rows.first().ok_or_else(no_policy)?;
    Ok(Policy::fill(Some(row.real(0)?), Some(row.real(1)?), Some(row.real(2)?)))
}

fn no_policy() -> SqlError {
    SqlError::Shape("retention has no row".into())
}
