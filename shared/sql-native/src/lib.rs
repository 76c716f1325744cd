//! The storage port on rusqlite, for the bot's embedded store and every crate's store tests.
//!
//! A `NativeSql` belongs to a single thread. Not here: SQL text and migrations (each store has its
//! own).

mod limits;
mod transaction;

use std::{fs::OpenOptions, path::Path, time::Duration};

use rusqlite::{
    CachedStatement, Connection,
    config::DbConfig,
    types::{Null, ValueRef},
};

use ars_sql::{Row, Sql, SqlError, Value};

/// Timeout for the write lock. Only a second process on the same data directory ever waits.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Statement cache size: all the statements in a store, and room for the shapes of a filtered list.
const CACHED_STATEMENTS: usize = 64;
/// 2^53 - 1, the largest integer in a row on the edge platform.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// A SQLite connection with the edge platform's limits.
pub struct NativeSql {
    connection: Connection,
}

impl NativeSql {
    /// Opens or creates a database file that only its owner can read.
    ///
    /// Uses a write-ahead log with a full sync per commit: a successful write survives a power failure.
    pub fn open(path: &Path) -> Result<Self, SqlError> {
        make_private(path)?;
        let sql = Self::over(Connection::open(path).map_err(engine)?)?;
        let pragma = |name, value| {
            sql.connection
                .pragma_update_and_check(None, name, value, |_| Ok(()))
        };
        pragma("journal_mode", "wal").map_err(engine)?;
        sql.connection
            .pragma_update(None, "synchronous", "full")
            .map_err(engine)?;
        Ok(sql)
    }

    /// Opens an in-memory database, which is deleted with the value.
    pub fn in_memory() -> Result<Self, SqlError> {
        Self::over(Connection::open_in_memory().map_err(engine)?)
    }

    fn over(connection: Connection) -> Result<Self, SqlError> {
        connection.busy_timeout(BUSY_TIMEOUT).map_err(engine)?;
        connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        // Otherwise SQLite prepares a cached statement again whenever a bound time or id may change
        // the plan.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
            .map_err(engine)?;
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
            let column = |index| {
                row.get_ref(index)
                    .map_err(engine)
                    .and_then(|value| read(index, value))
            };
            handle(Row::new(
                (0..columns).map(column).collect::<Result<_, _>>()?,
            ))?;
        }
        Ok(())
    }

    fn text(&self, sql: &str, params: &[Value]) -> Result<Option<String>, SqlError> {
        match self.query(sql, params)?.into_iter().next() {
            Some(row) if !row.is_null(0) => row.into_text(0).map(Some),
            _ => Ok(None),
        }
    }

    fn transaction<T, E: From<SqlError>>(
        &self,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        transaction::run(&self.connection, body)
    }
}

/// Creates the file before SQLite does, because SQLite would apply the umask.
/// SQLite gives the log the same permissions.
fn make_private(path: &Path) -> Result<(), SqlError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(path)
        .map(drop)
        .map_err(|error| SqlError::Engine(format!("the database file: {error}")))
}

/// Binds numbers as doubles, like the edge platform, so statements that need integers fail here too.
fn bind(statement: &mut CachedStatement<'_>, params: &[Value]) -> Result<(), SqlError> {
    if statement.parameter_count() != params.len() {
        let wanted = statement.parameter_count();
        let given = params.len();
        return Err(SqlError::Engine(format!(
            "{wanted} parameters wanted, {given} given"
        )));
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
        ValueRef::Integer(_) => Err(SqlError::Shape(format!(
            "column {index} is an integer beyond 2^53"
        ))),
        ValueRef::Real(number) => Ok(Value::Real(number)),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::Text(text.to_owned())),
            Err(_) => Err(SqlError::Shape(format!("column {index} is not UTF-8"))),
        },
        ValueRef::Blob(_) => Err(SqlError::Shape(format!("column {index} is a blob"))),
    }
}

/// SQLite's messages contain statements and columns, never bound values.
#[expect(clippy::needless_pass_by_value, reason = "the shape map_err wants")]
fn engine(error: rusqlite::Error) -> SqlError {
    SqlError::Engine(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_do_not_depend_on_values() {
        let sql = NativeSql::in_memory().unwrap();
        assert!(
            sql.connection
                .db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG)
                .unwrap()
        );
    }

    #[test]
    fn files_use_a_log_with_full_sync() {
        let folder = tempfile::tempdir().unwrap();
        let sql = NativeSql::open(&folder.path().join("store.sqlite3")).unwrap();
        let journal: String = sql
            .connection
            .pragma_query_value(None, "journal_mode", |r| r.get(0))
            .unwrap();
        let synchronous: i64 = sql
            .connection
            .pragma_query_value(None, "synchronous", |r| r.get(0))
            .unwrap();
        assert_eq!((journal.as_str(), synchronous), ("wal", 2));
    }
}
