//! One page of JSON texts as one answer.
//!
//! The whole answer is put together inside SQLite and goes out as it is; a hot read is one statement. Only a page near
//! the platform's limit of one value comes row by row instead.

use ars_sql::{Row, Sql, SqlError, Value};

/// Bytes of texts joined inside SQLite. The edge platform allows 2 MB for one value; a page has at most as many
/// commas as its texts have 20 bytes each, the least an event takes.
pub(super) const MAX_JOINED: i64 = 1_900_000;

/// A statement that yields a page's rows, and how an answer is made of them.
pub(super) struct Page<'a> {
    /// Yields `place`, `id` and `text`, in `order` already. A row whose text is NULL is read, but says nothing.
    pub rows: &'a str,
    /// How `rows` are ordered.
    pub order: &'a str,
    /// SQL of what stands before the texts.
    pub before: &'a str,
    /// SQL of what stands behind them, over `count`, and `place` and `id` of the last row.
    pub after: &'a str,
}

impl Page<'_> {
    /// The answer.
    pub(super) fn answer<S: Sql>(&self, sql: &S, params: &[Value]) -> Result<S::Text, SqlError> {
        let Self { rows, order, before, after } = self;
        // Beside the lone `max`, SQLite takes bare columns from the row that holds the maximum: here the last one. A
        // named subquery used several times would read more plainly, but SQLite counts the tables of every use
        // against the platform's limits, and a predicate may hold a hundred.
        let statement = format!(
            "SELECT iif(coalesce(so_far, 0) > {MAX_JOINED}, NULL, {before} || coalesce(joined, '') || {after}) \
             FROM (SELECT count(*) AS count, max(nth), place, id, so_far, \
             group_concat(iif(so_far > {MAX_JOINED}, NULL, text), ',' ORDER BY nth) AS joined FROM (\
             SELECT place, id, text, row_number() OVER page AS nth, \
             sum(coalesce(octet_length(text), 0)) OVER page AS so_far FROM ({rows}) \
             WINDOW page AS (ORDER BY {order} ROWS UNBOUNDED PRECEDING)))"
        );
        match sql.text(&statement, params)? {
            Some(answer) => Ok(answer),
            None => self.row_by_row(sql, params),
        }
    }

    fn row_by_row<S: Sql>(&self, sql: &S, params: &[Value]) -> Result<S::Text, SqlError> {
        let rows = sql.query(self.rows, params)?;
        let (place, id) = match rows.last() {
            Some(last) => (Value::from(last.real(0)?), Value::from(last.text(1)?)),
            None => (Value::Null, Value::Null),
        };
        let count = Value::from(i64::try_from(rows.len()).unwrap_or(i64::MAX));
        let (Self { before, after, .. }, next) = (self, params.len() + 1);
        let frame = format!(
            "SELECT {before}, {after} FROM (SELECT ?{next} AS count, ?{} AS place, ?{} AS id)",
            next + 1,
            next + 2
        );
        let found = sql.query(&frame, &[params, &[count, place, id]].concat())?;
        let frame = found.first().ok_or_else(|| SqlError::Shape("a frame without a row".into()))?;
        let answer = format!("{}{}{}", frame.text(0)?, joined(rows.iter(), 2)?, frame.text(1)?);
        Ok(S::Text::from(answer))
    }
}

/// The texts of a column, separated by commas; NULLs are left out.
pub(super) fn joined<'a>(rows: impl Iterator<Item = &'a Row>, column: usize) -> Result<String, SqlError> {
    let mut joined = String::new();
    for row in rows {
        if !row.is_null(column) {
            if !joined.is_empty() {
                joined.push(',');
            }
            joined.push_str(row.text(column)?);
        }
    }
    Ok(joined)
}
