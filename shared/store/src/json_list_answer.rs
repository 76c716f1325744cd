//! A response that is a single list of stored JSON texts, unchanged.
//!
//! A single statement joins the list inside SQLite. Only a response near the platform's limit for
//! one value is read row by row. Not here: cursors, as in run lists (`ars-runs`).

use ars_sql::{Sql, SqlError, Value};

use crate::add_texts;

/// Maximum bytes of texts and commas joined inside SQLite. The edge platform allows 2 MB for a
/// single value.
const MAX_JOINED: i64 = 1_900_000;

/// The list, and the statement that yields the texts.
#[derive(Debug, Clone, Copy)]
pub struct JsonListAnswer<'a> {
    /// Key of the list in the response.
    pub name: &'a str,
    /// A statement that yields `text` and the columns of `order`; rows with a NULL text are skipped.
    pub rows: &'a str,
    /// Sort order for the texts: columns of `rows`.
    pub order: &'a str,
}

impl JsonListAnswer<'_> {
    /// Returns `{ <name>: [ … ] }`.
    pub fn answer<S: Sql>(&self, sql: &S, params: &[Value]) -> Result<S::Text, SqlError> {
        let Self { name, rows, order } = self;
        let statement = format!(
            "SELECT iif(coalesce(max(so_far), 0) > {MAX_JOINED}, NULL, '{{\"{name}\":[' || \
             coalesce(group_concat(iif(so_far > {MAX_JOINED}, NULL, text), ',' ORDER BY {order}), '') || ']}}') \
             FROM (SELECT *, sum(octet_length(text) + 1) OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING) AS so_far \
             FROM ({rows}))"
        );
        match sql.text(&statement, params)? {
            Some(answer) => Ok(answer),
            None => self.row_by_row(sql, params),
        }
    }

    fn row_by_row<S: Sql>(&self, sql: &S, params: &[Value]) -> Result<S::Text, SqlError> {
        let Self { name, rows, order } = self;
        let mut answer = S::Text::from(format!(r#"{{"{name}":["#));
        add_texts(
            sql,
            &format!("SELECT text FROM ({rows}) ORDER BY {order}"),
            params,
            &mut answer,
        )?;
        answer.extend(["]}"]);
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use ars_sql_native::NativeSql;

    use super::*;

    fn answer(rows: &str) -> String {
        let sql = NativeSql::in_memory().unwrap();
        JsonListAnswer {
            name: "list",
            rows,
            order: "place DESC",
        }
        .answer(&sql, &[])
        .unwrap()
    }

    #[test]
    fn texts_are_unchanged_and_ordered() {
        assert_eq!(
            answer("SELECT '{}' AS text, 1 AS place WHERE 0"),
            r#"{"list":[]}"#
        );
        let rows = r#"SELECT '{"a": 1.0}' AS text, 1 AS place UNION ALL SELECT '"é"', 3 UNION ALL SELECT NULL, 2"#;
        assert_eq!(answer(rows), r#"{"list":["é",{"a": 1.0}]}"#);
    }

    #[test]
    fn oversized_list_has_the_same_answer() {
        // Around the limit, and far beyond SQLite's maximum.
        for (rows, bytes) in [(19, 99_990), (19, 100_000), (20, 100_000), (50, 200_000)] {
            let rows_sql = format!(
                "WITH RECURSIVE n(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM n WHERE place < {rows}) \
                 SELECT '\"' || place || replace(hex(zeroblob({})), '00', 'xy') || '\"' AS text, place FROM n \
                 UNION ALL SELECT NULL, 2.5",
                bytes / 2
            );
            let filler = "xy".repeat(bytes / 2);
            let texts: Vec<_> = (1..=rows)
                .rev()
                .map(|place| format!("\"{place}{filler}\""))
                .collect();
            assert!(
                answer(&rows_sql) == format!(r#"{{"list":[{}]}}"#, texts.join(",")),
                "{rows} of {bytes}"
            );
        }
    }
}
