//! `BEGIN IMMEDIATE` … `COMMIT`, with a rollback on `Err`, on panic and on a commit that fails.
//!
//! Not here: nesting. A transaction inside a transaction is an error of the inner one.

use rusqlite::Connection;

use ars_sql::SqlError;

use crate::engine;

/// Rolls back when dropped before the commit, so a panic in the body leaves nothing behind either.
struct Open<'a> {
    connection: &'a Connection,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // After a failed statement SQLite may have rolled back by itself; then there is nothing to end.
        if !self.connection.is_autocommit() {
            // A rollback that fails leaves the transaction open, and the next BEGIN reports that.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

/// Takes the write lock first: a transaction that reads and then writes can never find the lock taken midway.
pub(crate) fn run<T, E: From<SqlError>>(
    connection: &Connection,
    body: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    connection.execute_batch("BEGIN IMMEDIATE").map_err(engine)?;
    let open = Open { connection };
    let value = body()?;
    connection.execute_batch("COMMIT").map_err(engine)?;
    drop(open);
    Ok(value)
}
