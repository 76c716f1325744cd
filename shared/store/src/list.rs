//! Writes a list of JSON texts into a response row by row.
//!
//! Lists may have tens of megabytes, which the edge platform cannot hold in memory several times.

use ars_sql::{Row, Sql, SqlError, Value};

/// Adds an entry for each row that a statement yields, separated by commas. Rows without an entry
/// are skipped.
pub fn add_list<S: Sql>(
    sql: &S,
    statement: &str,
    params: &[Value],
    answer: &mut S::Text,
    mut entry: impl FnMut(Row) -> Result<Option<String>, SqlError>,
) -> Result<(), SqlError> {
    let mut comma = "";
    sql.each(statement, params, |row| {
        if let Some(entry) = entry(row)? {
            answer.extend([comma, &entry]);
            comma = ",";
        }
        Ok(())
    })
}

/// Adds the texts in the first column. Rows with a NULL text are skipped.
pub fn add_texts<S: Sql>(
    sql: &S,
    statement: &str,
    params: &[Value],
    answer: &mut S::Text,
) -> Result<(), SqlError> {
    let text = |row: Row| {
        if row.is_null(0) {
            Ok(None)
        } else {
            row.into_text(0).map(Some)
        }
    };
    add_list(sql, statement, params, answer, text)
}

#[cfg(test)]
mod tests {
    use ars_sql_native::NativeSql;

    use super::*;

    fn answer(rows: &str) -> String {
        let mut answer = "[".to_owned();
        add_texts(&NativeSql::in_memory().unwrap(), rows, &[], &mut answer).unwrap();
        answer + "]"
    }

    #[test]
    fn commas_separate_only_written_entries() {
        assert_eq!(
            answer(
                "SELECT NULL UNION ALL SELECT '1' UNION ALL SELECT NULL UNION ALL SELECT '\"é\"'"
            ),
            "[1,\"é\"]"
        );
        assert_eq!(answer("SELECT '1' WHERE 0"), "[]");
        assert_eq!(answer("SELECT '' UNION ALL SELECT '2'"), "[,2]");
    }

    #[test]
    fn failed_entry_ends_the_list() {
        let sql = NativeSql::in_memory().unwrap();
        let ended = add_list(
            &sql,
            "SELECT 1 UNION ALL SELECT 2",
            &[],
            &mut String::new(),
            |row| row.into_text(0).map(Some),
        );
        assert!(matches!(ended, Err(SqlError::Shape(_))));
        assert_eq!(sql.query("SELECT 1", &[]).unwrap().len(), 1);
    }
}
