//! The migration runner: append-only steps, each applied once together with the row that records
//! it.
//!
//! An older binary ignores unknown steps in a newer schema, because schemas expand before they
//! contract (migrations/README.md).

use crate::{MigrationError, Sql, Value};

/// A store migration, `migrations/<store>/NNNN_name.sql`.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// The file's stem, such as `0001_runs`. Steps run in slice order.
    pub name: &'static str,
    /// The file's text: statements separated by `;` at line ends.
    pub sql: &'static str,
}

const HISTORY: &str = "CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY) STRICT";

/// Applies the pending steps in order, each in a separate transaction.
pub fn migrate<S: Sql>(sql: &S, steps: &[Migration]) -> Result<(), MigrationError> {
    sql.execute(HISTORY, &[])?;
    let applied = sql.query("SELECT name FROM _migrations", &[])?;
    for step in steps {
        if applied.iter().any(|row| row.text(0) == Ok(step.name)) {
            continue;
        }
        sql.transaction(|| {
            for statement in statements(step.sql) {
                sql.execute(statement, &[])?;
            }
            sql.execute(
                "INSERT INTO _migrations (name) VALUES (?)",
                &[Value::from(step.name)],
            )
        })
        .map_err(|source| MigrationError::Step {
            name: step.name,
            source,
        })?;
    }
    Ok(())
}

/// Splits a step at `;` line ends and drops comment lines. The inner semicolons in triggers are not
/// at line ends.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.split(";\n").map(str::trim).filter(|statement| {
        statement
            .lines()
            .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--"))
    })
}

#[cfg(test)]
mod tests {
    use super::statements;

    #[test]
    fn statements_are_split_at_line_ends_only() {
        let text =
            "-- about\nCREATE TABLE a (x TEXT DEFAULT ';');\n\nCREATE TABLE b (y);\n-- end\n";
        let found: Vec<_> = statements(text).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].ends_with("';')"));
    }
}
