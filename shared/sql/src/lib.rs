//! The storage port: the SQLite operations that stores need.
//!
//! Two adapters run the same SQL: `ars-sql-native` (rusqlite) and `ars-platform` (a Durable Object's storage). The port
//! is synchronous because both are, so a store never awaits between its first read and its last write. Not here:
//! connections, files, SQL text (each store has its own).
#![forbid(unsafe_code)]

mod error;
mod migrate;
mod value;

pub use error::{MigrationError, SqlError};
pub use migrate::{Migration, migrate};
pub use value::{Row, Value};

/// SQLite as seen by a store.
///
/// Statements use `?` or `?N` parameters, at most 100 of them. The edge platform rejects `BEGIN`, `SAVEPOINT` and
/// `PRAGMA` (docs/platform.md).
pub trait Sql {
    /// A text that passes from the database to a caller. On the edge it stays a JavaScript string,
    /// because copying it into Rust and back would transcode it twice. A large text is built piece
    /// by piece.
    type Text: From<String> + for<'a> Extend<&'a str>;

    /// Runs a statement and passes on the rows in turn, for rows too large to hold all at once. The
    /// callback must not run another statement.
    fn each(
        &self,
        sql: &str,
        params: &[Value],
        row: impl FnMut(Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError>;

    /// Runs a statement and returns every row (none for a write without `RETURNING`).
    fn query(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>, SqlError> {
        let mut rows = Vec::new();
        self.each(sql, params, |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs a statement and returns the first row's first column; `None` without a row or for NULL.
    fn text(&self, sql: &str, params: &[Value]) -> Result<Option<Self::Text>, SqlError>;

    /// Runs `body` atomically. An `Err` rolls back.
    ///
    /// Transactions do not nest.
    fn transaction<T, E: From<SqlError>>(
        &self,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E>;

    /// Runs a statement and discards the rows.
    fn execute(&self, sql: &str, params: &[Value]) -> Result<(), SqlError> {
        self.query(sql, params).map(drop)
    }
}
