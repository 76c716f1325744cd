//! Adds a firing: `{ ok, retained }`, where `retained` counts the schedule's firings.

use ars_sql::{Sql, SqlError, Value};
use ars_store::{StoreFailure, json::parse_body};

use super::{MAX_FIRINGS, ScheduleStore, entry::Entry};

/// Deletes the firings beyond the limit: at most one, because every write enforces the limit. It
/// can be the new row, when that row is late.
const TRIM: &str = "DELETE FROM firings WHERE nth IN (SELECT nth FROM firings \
    WHERE schedule = ?1 ORDER BY fired_at DESC, nth DESC LIMIT -1 OFFSET ?2)";

impl<S: Sql> ScheduleStore<S> {
    /// Handles a `/schedules/record` request.
    pub(super) fn record(&self, body: &str) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let entry = Entry::read(&body)?;
        let retained = self.sql.transaction(|| self.add(entry))?;
        Ok(format!(r#"{{"ok":true,"retained":{retained}}}"#))
    }

    /// Adds a firing and returns how many the schedule has.
    fn add(&self, entry: Entry<'_>) -> Result<i64, SqlError> {
        let Entry {
            schedule,
            fired_at,
            text,
        } = entry;
        let schedule = Value::from(schedule);
        self.sql.execute(
            "INSERT INTO firings (schedule, fired_at, firing) VALUES (?, ?, ?)",
            &[schedule.clone(), Value::from(fired_at), Value::from(text)],
        )?;
        self.sql
            .execute(TRIM, &[schedule.clone(), Value::from(MAX_FIRINGS)])?;
        let count = "SELECT count(*) FROM firings WHERE schedule = ?";
        match self.sql.query(count, &[schedule])?.first() {
            Some(row) => row.integer(0),
            None => Err(SqlError::Shape("a count without a row".into())),
        }
    }
}
