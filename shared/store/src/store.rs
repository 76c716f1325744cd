//! The store interface.

use ars_sql::{MigrationError, Sql, SqlError};
use ars_types::UnixMillis;
use ars_wire::state::Verb;

use crate::StoreFailure;

/// A store over the storage port.
///
/// The shell has passed the gate ([`crate::gate`]) and selected the store by [`crate::key_of`].
/// Each response is produced in a single synchronous span: it does not await between its first read
/// and its last write, and writes are atomic.
pub trait Store<S: Sql>: Sized {
    /// The operations that the store offers.
    type Verb: Verb;

    /// Interval between [`Store::sweep`] calls from the first request that [`Store::arms_sweep`];
    /// `None`: never.
    const SWEEP_EVERY_MS: Option<i64> = None;
    /// Maximum deletions per sweep. After that many, the shell soon calls it again.
    const SWEEP_AT_MOST: i64 = i64::MAX;

    /// Migrates the database and opens the store on it.
    fn open(sql: S) -> Result<Self, MigrationError>;

    /// Handles a request. Returns the response body.
    fn answer(
        &self,
        verb: Self::Verb,
        body: &str,
        now: UnixMillis,
    ) -> Result<S::Text, StoreFailure>;

    /// Returns whether there may be data for the sweep after this kind of request succeeds.
    fn arms_sweep(&self, _verb: Self::Verb) -> bool {
        false
    }

    /// Deletes hidden data. Returns the number of deletions.
    fn sweep(&self, _now: UnixMillis) -> Result<i64, SqlError> {
        Ok(0)
    }

    /// Returns whether a store that succeeded with this request is certainly not empty.
    /// After any other answer, including a refusal, the shell calls [`Store::is_empty`].
    fn is_filled_by(_verb: Self::Verb) -> bool {
        true
    }

    /// Returns whether the store is empty, so that a shell may delete its database.
    fn is_empty(&self) -> Result<bool, SqlError> {
        Ok(false)
    }
}
