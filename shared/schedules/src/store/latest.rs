//! Each schedule's newest firing, by name: `{ firings }`.

use serde::de::IgnoredAny;

use ars_sql::Sql;
use ars_store::{JsonListAnswer, Refusal, StoreFailure};

use super::ScheduleStore;

/// Jumps along the index from name to name, and reads a single row per schedule instead of all. If
/// a row is unreadable, the row before it is read.
const LATEST: JsonListAnswer<'_> = JsonListAnswer {
    name: "firings",
    rows: "WITH RECURSIVE names(schedule) AS (SELECT min(schedule) FROM firings UNION ALL \
        SELECT (SELECT min(firings.schedule) FROM firings WHERE firings.schedule > names.schedule) \
        FROM names WHERE schedule IS NOT NULL) \
        SELECT (SELECT firing FROM firings WHERE firings.schedule = names.schedule AND json_valid(firing) \
        ORDER BY fired_at DESC, nth DESC LIMIT 1) AS text, schedule FROM names",
    order: "schedule",
};

impl<S: Sql> ScheduleStore<S> {
    /// Answers `/schedules/latest`. Accepts any JSON as the body.
    pub(super) fn latest(&self, body: &str) -> Result<S::Text, StoreFailure> {
        if serde_json::from_str::<IgnoredAny>(body).is_err() {
            return Err(Refusal::field("body", "must be valid JSON").into());
        }
        Ok(LATEST.answer(&self.sql, &[])?)
    }
}
