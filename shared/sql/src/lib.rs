//! The storage port: what a store needs of SQLite, and nothing more.
//!
//! Two adapters run the same SQL: `ars-sql-native` (rusqlite) and `ars-platform` (a Durable Object's storage).
//! The port is synchronous because both are; a store never awaits between its first read and its last write.
//! Not here: connections, files, SQL text (each store owns its own).
#![forbid(unsafe_code)]

mod migrate;
mod value;

pub use migrate::{Migration, MigrationError, migrate};
pub use value::{Row, Value};

/// A storage fault: ours, never the caller's. Its text is for logs only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// SQLite or the platform refused the statement.
    #[error("storage failed: {0}")]
    Engine(String),
    /// A row was not shaped as the statement promises.
    #[error("unexpected row: {0}")]
    Shape(String),
}

/// SQLite as a store sees it.
///
/// Statements use `?` or `?N` parameters, at most 100 of them, and never `BEGIN`, `SAVEPOINT` or `PRAGMA`
/// (docs/platform.md: the edge platform refuses them).
pub trait Sql {
    /// A text on its way from the database to a caller. On the edge it stays what SQLite gave: taking it into Rust
    /// and out again would copy and transcode it twice. A large one is made piece by piece, and is never held whole
    /// but once.
    type Text: From<String> + for<'a> Extend<&'a str>;

    /// Runs one statement and hands over the rows it yields one by one, for those that are too large to be held all
    /// at once. No other statement may run meanwhile.
    fn each(
        &self,
        sql: &str,
        params: &[Value],
        row: impl FnMut(Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError>;

    /// Runs one statement and returns every row it yields (none for a write without `RETURNING`).
    fn query(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>, SqlError> {
        let mut rows = Vec::new();
        self.each(sql, params, |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs one statement and answers the first column of its first row; `None` when there is no row or it is NULL.
    fn text(&self, sql: &str, params: &[Value]) -> Result<Option<Self::Text>, SqlError>;

    /// Runs `body` so that either everything it wrote is durable or nothing is: an `Err` rolls back.
    ///
    /// Transactions do not nest.
    fn transaction<T, E: From<SqlError>>(&self, body: impl FnOnce() -> Result<T, E>) -> Result<T, E>;

    /// Runs one statement for its effect.
    fn execute(&self, sql: &str, params: &[Value]) -> Result<(), SqlError> {
        self.query(sql, params).map(drop)
    }
}
