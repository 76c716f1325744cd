//! The edge platform's SQLite limits, so that no statement works natively and fails there.
//!
//! Not a security boundary: no statement comes from a caller. The numbers were measured on the pinned workerd.

use rusqlite::{Connection, limits::Limit};

use ars_sql::SqlError;

/// Maximum bytes in a text, row or statement result, just above the largest request body.
const LENGTH: i32 = 2_200_000;
/// Maximum bytes in a statement.
const STATEMENT: i32 = 100_000;
/// Maximum nodes from an expression's root to the deepest leaf.
const EXPRESSION_DEPTH: i32 = 100;
/// Maximum arguments for a function.
const FUNCTION_ARGUMENTS: i32 = 127;
/// Maximum bound parameters in a statement.
const PARAMETERS: i32 = 100;

/// Keywords that the edge platform rejects where a statement starts.
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
