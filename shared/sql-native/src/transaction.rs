//! `BEGIN IMMEDIATE` … `COMMIT`, with a rollback on `Err`, on panic and on a failed commit.
//!
//! Not here: nesting. A transaction inside a transaction fails.

use rusqlite::Connection;

use ars_sql::SqlError;

use crate::engine;

/// Rolls back when dropped before the commit, including on panic.
struct Open<'a> {
    connection: &'a Connection,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // SQLite may have rolled back already after a failed statement.
        if !self.connection.is_autocommit() {
            // A failed rollback leaves the transaction open, and the next BEGIN reports that.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

/// Acquires the write lock first, so that a transaction never fails to upgrade from reading to writing.
pub(crate) fn run<T, E: From<SqlError>>(
    connection: &Connection,
    body: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    connection
        .execute_batch("BEGIN IMMEDIATE")
        .map_err(engine)?;
    let open = Open { connection };
    let value = body()?;
    connection.execute_batch("COMMIT").map_err(engine)?;
    drop(open);
    Ok(value)
}
