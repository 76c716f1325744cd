//! The store: migrations and verbs.

use ars_sql::{Migration, MigrationError, Sql, SqlError, migrate};
use ars_store::{Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::TranscriptVerb;

use super::abandoned::MAX_SWEPT;

/// The store's migrations, `migrations/run-transcript/`.
pub const TRANSCRIPT_MIGRATIONS: &[Migration] = &[
    Migration {
        name: "0001_transcript",
        sql: include_str!("../../../../migrations/run-transcript/0001_transcript.sql"),
    },
    Migration {
        name: "0002_written_at",
        sql: include_str!("../../../../migrations/run-transcript/0002_written_at.sql"),
    },
];

/// Interval between sweeps: a day, because each sweep wakes the object.
const SWEEP_EVERY_MS: i64 = 86_400_000;

/// Transcripts in a single SQLite database.
pub struct TranscriptStore<S> {
    pub(super) sql: S,
}

impl<S: Sql> Store<S> for TranscriptStore<S> {
    type Verb = TranscriptVerb;

    const SWEEP_EVERY_MS: Option<i64> = Some(SWEEP_EVERY_MS);
    const SWEEP_AT_MOST: i64 = MAX_SWEPT;

    fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, TRANSCRIPT_MIGRATIONS)?;
        Ok(Self { sql })
    }

    fn answer(
        &self,
        verb: TranscriptVerb,
        body: &str,
        now: UnixMillis,
    ) -> Result<S::Text, StoreFailure> {
        let answer = match verb {
            TranscriptVerb::Owner => self.owner(body, now),
            TranscriptVerb::Write => self.write(body, now),
            TranscriptVerb::Read => return self.read(body),
            TranscriptVerb::Clear => self.clear(body),
        };
        answer.map(S::Text::from)
    }

    fn arms_sweep(&self, verb: TranscriptVerb) -> bool {
        matches!(verb, TranscriptVerb::Owner | TranscriptVerb::Write)
    }

    fn sweep(&self, now: UnixMillis) -> Result<i64, SqlError> {
        self.delete_abandoned(now)
    }

    fn is_filled_by(verb: TranscriptVerb) -> bool {
        matches!(verb, TranscriptVerb::Owner | TranscriptVerb::Write)
    }

    /// Returns whether there is no owner. Rows exist only together with an owner.
    fn is_empty(&self) -> Result<bool, SqlError> {
        Ok(self
            .sql
            .query("SELECT 1 FROM transcript_owners LIMIT 1", &[])?
            .is_empty())
    }
}
