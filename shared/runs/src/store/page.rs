//! A paged read's response: a single JSON text that contains a page's stored JSON texts.
//!
//! SQLite concatenates the complete response, so a frequent read is a single statement and the text
//! is sent unchanged. A page close to the platform's limit for a single value is read row by row,
//! and ends by bytes.

use ars_sql::{Sql, SqlError, Value};
use ars_store::add_list;

/// Maximum text bytes that SQLite concatenates. The edge platform allows 2.2 MB for a single value
/// (docs/platform.md). Commas are not counted: they add at most one nineteenth, because the
/// shortest event is `{"type":"","seq":1}`.
pub(super) const MAX_JOINED: i64 = 1_900_000;
/// Maximum text bytes in a page, which exceed those in a single row.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A statement that yields a page's rows, and the text around them.
pub(super) struct Page<'a> {
    /// Yields `place`, `id` and `text`, sorted by `order`. A row with a NULL text counts but is not
    /// in the response.
    pub rows: &'a str,
    /// Sort order for `rows`.
    pub order: &'a str,
    /// Text before the rows.
    pub before: &'a str,
    /// SQL for the text after the rows, over `count`, and the last row's `place` and `id`.
    pub after: &'a str,
    /// The same for a page that ends before the last of `rows`, so that more follow.
    pub more: &'a str,
}

impl Page<'_> {
    /// Returns the page as response text.
    pub(super) fn answer<S: Sql>(&self, sql: &S, params: &[Value]) -> Result<S::Text, SqlError> {
        let Self {
            rows,
            order,
            before,
            after,
            more: _,
        } = self;
        // With `max` as the only such aggregate, SQLite reads bare columns from the row with the
        // maximum, here the last row. A common table expression would be easier to read, but SQLite
        // counts its tables once per use against the platform's limits, and a predicate may have a
        // hundred.
        let statement = format!(
            "SELECT iif(coalesce(so_far, 0) > {MAX_JOINED}, NULL, '{before}' || coalesce(joined, '') || {after}) \
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
        let mut answer = S::Text::from(self.before.to_owned());
        let mut count = 0;
        let mut place = Value::Null;
        let mut id = Value::Null;
        let mut bytes = 0;
        let mut is_full = false;
        add_list(sql, self.rows, params, &mut answer, |row| {
            let size = if row.is_null(2) {
                0
            } else {
                row.text(2)?.len()
            };
            is_full |= bytes > 0 && bytes + size > MAX_PAGE_BYTES;
            if is_full {
                return Ok(None);
            }
            bytes += size;
            (count, place, id) = (
                count + 1,
                Value::from(row.real(0)?),
                Value::from(row.text(1)?),
            );
            if row.is_null(2) {
                Ok(None)
            } else {
                row.into_text(2).map(Some)
            }
        })?;
        let next = params.len() + 1;
        let after = format!(
            "SELECT {} FROM (SELECT ?{next} AS count, ?{} AS place, ?{} AS id)",
            if is_full { self.more } else { self.after },
            next + 1,
            next + 2
        );
        let found = sql.query(&after, &[params, &[Value::from(count), place, id]].concat())?;
        let after = found
            .first()
            .ok_or_else(|| SqlError::Shape("a frame without a row".into()))?;
        answer.extend([after.text(0)?]);
        Ok(answer)
    }
}
