//! The edge platform's SQLite limits, so that no statement works natively and fails there.
//!
//! Not a security boundary: no statement comes from a caller. The numbers were measured on the pinned workerd.

use rusqlite::{Connection, limits::Limit};

use ars_sql::SqlError;

/// Bytes of one text, row or statement result, just above the largest request body.
const LENGTH: i32 = 2_200_000;
/// Bytes of one statement.
const STATEMENT: i32 = 100_000;
/// Nodes from the root of an expression to its deepest leaf.
const EXPRESSION_DEPTH: i32 = 100;
/// Arguments of one function.
const FUNCTION_ARGUMENTS: i32 = 127;
/// Bound parameters of one statement.
const PARAMETERS: i32 = 100;

/// Keywords that the edge platform rejects at the start of a statement.
const REFUSED: [&str; 6] = [
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "PRAGMA",
];

pub(crate) fn apply(connection: &Connection) -> rusqlite::Result<()> {
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, LENGTH),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, STATEMENT),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, EXPRESSION_DEPTH),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, FUNCTION_ARGUMENTS),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, PARAMETERS),
    ] {
        connection.set_limit(limit, value)?;
    }
    Ok(())
}

pub(crate) fn refuse_transaction_words(sql: &str) -> Result<(), SqlError> {
    let word = sql.split_ascii_whitespace().next().unwrap_or_default();
    match REFUSED
        .iter()
        .find(|refused| word.eq_ignore_ascii_case(refused))
    {
        Some(refused) => Err(SqlError::Engine(format!(
            "{refused} is not for stores: use Sql::transaction"
        ))),
        None => Ok(()),
    }
}
