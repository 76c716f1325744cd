//! The shape of a store.

use ars_sql::{MigrationError, Sql, SqlError};
use ars_types::UnixMillis;
use ars_wire::state::Verb;

use crate::StoreFailure;

/// A store over the storage port.
///
/// The shell has done the checks before validation (state-worker supplement section 1.1, 0 to 5) and has chosen the
/// store by [`crate::key_of`]. Each answer is one synchronous span: nothing awaits between its first read and its
/// last write, and what it wrote is written whole or not at all.
pub trait Store<S: Sql>: Sized {
    /// What it can be asked for.
    type Verb: Verb;

    /// How often the shell calls [`Store::sweep`]: counted from the first request that [`Store::arms_sweep`], and
    /// again after each sweep. `None`: never.
    const SWEEP_EVERY_MS: Option<i64> = None;
    /// As many as one sweep deletes at most: when it has, there may be more, and the shell soon calls it again.
    const SWEEP_AT_MOST: i64 = i64::MAX;

    /// Brings the database up to date and opens the store on it.
    fn open(sql: S) -> Result<Self, MigrationError>;

    /// Answers a request's body with the answer's.
    fn answer(&self, verb: Self::Verb, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure>;

    /// Whether a request of this kind may leave something for the sweep.
    fn arms_sweep(_verb: Self::Verb) -> bool {
        false
    }

    /// Deletes what is hidden already; answers how many.
    fn sweep(&self, _now: UnixMillis) -> Result<i64, SqlError> {
        Ok(0)
    }

    /// Whether there is something in a store that has answered this. After any other answer, a refusal too, the shell
    /// asks whether it [`Store::is_empty`].
    fn is_filled_by(_verb: Self::Verb) -> bool {
        true
    }

    /// Whether the store holds nothing, so that a shell may give up its database.
    fn is_empty(&self) -> Result<bool, SqlError> {
        Ok(false)
    }
}
