//! The storage port on rusqlite: the bot's embedded store, and the store tests of every crate.
//!
//! Not here: SQL text and migrations (each store owns its own), threads (a `NativeSql` belongs to one).
//! Implements the storage half of "one storage implementation" (docs/ARCHITECTURE.md).

mod limits;
mod transaction;

use std::{fs::OpenOptions, path::Path, time::Duration};

use rusqlite::{
    CachedStatement, Connection,
    types::{Null, ValueRef},
};

use ars_sql::{Row, Sql, SqlError, Value};

/// How long a writer waits for another process's write. Only a second process on one data directory ever waits.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Prepared statements kept: all statements of a store with room for the shapes of a filtered list.
const CACHED_STATEMENTS: usize = 64;
/// 2^53 - 1: what a row of the edge platform can carry.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// One SQLite connection with the edge platform's limits.
pub struct NativeSql {
    connection: Connection,
}

impl NativeSql {
    /// Opens or makes a database file, readable by its owner only.
    ///
    /// Write-ahead log with a full sync per commit: a write that reports success survives a power cut.
    pub fn open(path: &Path) -> Result<Self, SqlError> {
        make_private(path)?;
        let sql = Self::over(Connection::open(path).map_err(engine)?)?;
        let pragma = |name, value| sql.connection.pragma_update_and_check(None, name, value, |_| Ok(()));
        pragma("journal_mode", "wal").map_err(engine)?;
        sql.connection.pragma_update(None, "synchronous", "full").map_err(engine)?;
        Ok(sql)
    }

    /// A database that lives as long as the value.
    pub fn in_memory() -> Result<Self, SqlError> {
        Self::over(Connection::open_in_memory().map_err(engine)?)
    }

    fn over(connection: Connection) -> Result<Self, SqlError> {
        connection.busy_timeout(BUSY_TIMEOUT).map_err(engine)?;
        connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        limits::apply(&connection).map_err(engine)?;
        Ok(Self { connection })
    }
}

impl Sql for NativeSql {
    type Text = String;

    fn each(
        &self,
        sql: &str,
        params: &[Value],
        mut handle: impl FnMut(Row) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        limits::refuse_transaction_words(sql)?;
        let mut statement = self.connection.prepare_cached(sql).map_err(engine)?;
        bind(&mut statement, params)?;
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(engine)? {
            let column = |index| row.get_ref(index).map_err(engine).and_then(|value| read(index, value));
            handle(Row::new((0..columns).map(column).collect::<Result<_, _>>()?))?;
        }
        Ok(())
    }

    fn text(&self, sql: &str, params: &[Value]) -> Result<Option<String>, SqlError> {
        match self.query(sql, params)?.into_iter().next() {
            Some(row) if !row.is_null(0) => row.into_text(0).map(Some),
            _ => Ok(None),
        }
    }

    fn transaction<T, E: From<SqlError>>(&self, body: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        transaction::run(&self.connection, body)
    }
}

/// Makes the file before SQLite does, which would let the umask decide who may read it. SQLite gives the log
/// beside it the same permissions.
fn make_private(path: &Path) -> Result<(), SqlError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|error| SqlError::Engine(format!("the database file: {error}")))
}

/// Binds every number as a double, because the edge platform does: a statement that only works with integers
/// fails here too.
fn bind(statement: &mut CachedStatement<'_>, params: &[Value]) -> Result<(), SqlError> {
    if statement.parameter_count() != params.len() {
        let (wanted, given) = (statement.parameter_count(), params.len());
        return Err(SqlError::Engine(format!("{wanted} parameters wanted, {given} given")));
    }
    for (index, value) in (1..).zip(params) {
        match value {
            Value::Null => statement.raw_bind_parameter(index, Null),
            Value::Integer(number) => statement.raw_bind_parameter(index, *number as f64),
            Value::Real(number) => statement.raw_bind_parameter(index, number),
            Value::Text(text) => statement.raw_bind_parameter(index, text),
        }
        .map_err(engine)?;
    }
    Ok(())
}

fn read(index: usize, value: ValueRef<'_>) -> Result<Value, SqlError> {
    match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) if (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&number) => {
            Ok(Value::Integer(number))
        }
        ValueRef::Integer(_) => Err(SqlError::Shape(format!("column {index} is an integer beyond 2^53"))),
        ValueRef::Real(number) => Ok(Value::Real(number)),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::Text(text.to_owned())),
            Err(_) => Err(SqlError::Shape(format!("column {index} is not UTF-8"))),
        },
        ValueRef::Blob(_) => Err(SqlError::Shape(format!("column {index} is a blob"))),
    }
}

/// SQLite's own words name statements and columns, never bound values.
#[expect(clippy::needless_pass_by_value, reason = "the shape map_err wants")]
fn engine(error: rusqlite::Error) -> SqlError {
    SqlError::Engine(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_opened_with_a_log_and_a_full_sync_per_commit() {
        let folder = tempfile::tempdir().unwrap();
        let sql = NativeSql::open(&folder.path().join("store.sqlite3")).unwrap();
        let journal: String = sql.connection.pragma_query_value(None, "journal_mode", |r| r.get(0)).unwrap();
        let synchronous: i64 = sql.connection.pragma_query_value(None, "synchronous", |r| r.get(0)).unwrap();
        assert_eq!((journal.as_str(), synchronous), ("wal", 2));
    }
}
