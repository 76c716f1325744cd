//! An answer that is one list of stored JSON texts, as they are.
//!
//! It is put together inside SQLite by one statement and goes out as it came; only one near the platform's limit of
//! one value comes row by row instead. Not here: cursors, as the lists of runs have them (`ars-runs`).

use ars_sql::{Sql, SqlError, Value};

use crate::add_texts;

/// Bytes of texts and commas joined inside SQLite. The edge platform allows 2 MB for one value.
const MAX_JOINED: i64 = 1_900_000;

/// The list, and where its texts are.
#[derive(Debug, Clone, Copy)]
pub struct Joined<'a> {
    /// The answer's one key.
    pub name: &'a str,
    /// A statement that yields the column `text`, and what `order` speaks of. A row whose text is NULL says nothing.
    pub rows: &'a str,
    /// The order of the texts: columns of `rows`.
    pub order: &'a str,
}

impl Joined<'_> {
    /// `{ <name>: [ … ] }`.
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
        add_texts(sql, &format!("SELECT text FROM ({rows}) ORDER BY {order}"), params, &mut answer)?;
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
        Joined { name: "list", rows, order: "place DESC" }.answer(&sql, &[]).unwrap()
    }

    #[test]
    fn texts_come_as_they_are_and_in_order() {
        assert_eq!(answer("SELECT '{}' AS text, 1 AS place WHERE 0"), r#"{"list":[]}"#);
        let rows =
            r#"SELECT '{"a": 1.0}' AS text, 1 AS place UNION ALL SELECT '"é"', 3 UNION ALL SELECT NULL, 2"#;
        assert_eq!(answer(rows), r#"{"list":["é",{"a": 1.0}]}"#);
    }

    #[test]
    fn a_list_beyond_one_value_of_the_platform_is_answered_alike() {
        // Around the limit, and far beyond what SQLite joins at all.
        for (rows, bytes) in [(19, 99_990), (19, 100_000), (20, 100_000), (50, 200_000)] {
            let rows_sql = format!(
                "WITH RECURSIVE n(place) AS (SELECT 1 UNION ALL SELECT place + 1 FROM n WHERE place < {rows}) \
                 SELECT '\"' || place || replace(hex(zeroblob({})), '00', 'xy') || '\"' AS text, place FROM n \
                 UNION ALL SELECT NULL, 2.5",
                bytes / 2
            );
            let filler = "xy".repeat(bytes / 2);
            let texts: Vec<_> = (1..=rows).rev().map(|place| format!("\"{place}{filler}\"")).collect();
            assert!(answer(&rows_sql) == format!(r#"{{"list":[{}]}}"#, texts.join(",")), "{rows} of {bytes}");
        }
    }
}
