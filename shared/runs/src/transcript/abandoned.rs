//! Deletes transcripts that nothing cleared.
//!
//! Their run ended while the store did not answer, or nothing resumed it.

use ars_sql::{Sql, SqlError, Value};
use ars_types::{RunId, UnixMillis};

use super::TranscriptStore;

/// How long after the last write a transcript is deleted: 14 days. A live run writes with each
/// step, and a run that waits for a process is resumed within days.
pub const ABANDONED_AGE_MS: i64 = 14 * 86_400_000;
/// Maximum number of transcripts that a sweep deletes.
pub(super) const MAX_SWEPT: i64 = 100;
/// Age of the noted time from which a write notes another, so that most writes change no further
/// row.
const NOTED_AGE_MS: i64 = 3_600_000;

/// Rows from an earlier release have no time, and theirs begins now.
const BEGIN: &str = "UPDATE transcript_owners SET written_at = ?1 WHERE written_at IS NULL";
const NOTE: &str = "UPDATE transcript_owners SET written_at = ?1 \
    WHERE run_id = ?2 AND (written_at IS NULL OR written_at < ?3)";
const ABANDONED: &str =
    "SELECT run_id FROM transcript_owners WHERE written_at <= ?1 ORDER BY written_at LIMIT ?2";

impl<S: Sql> TranscriptStore<S> {
    /// Notes when a write happened.
    pub(super) fn note_write(&self, run: &RunId, now: UnixMillis) -> Result<(), SqlError> {
        let noted = now.saturating_sub(NOTED_AGE_MS);
        self.sql.execute(
            NOTE,
            &[
                Value::from(now),
                Value::from(run.as_str()),
                Value::from(noted),
            ],
        )
    }

    /// Deletes old transcripts and returns their number.
    pub(super) fn delete_abandoned(&self, now: UnixMillis) -> Result<i64, SqlError> {
        self.sql.transaction(|| {
            self.sql.execute(BEGIN, &[Value::from(now)])?;
            let before = now.saturating_sub(ABANDONED_AGE_MS);
            let rows = self
                .sql
                .query(ABANDONED, &[Value::from(before), Value::from(MAX_SWEPT)])?;
            let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            for row in rows {
                self.delete(&row.into_text(0)?)?;
            }
            Ok(count)
        })
    }
}
