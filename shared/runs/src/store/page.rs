//! One page of JSON texts as one text.
//!
//! A page is joined inside SQLite and crosses the boundary once. Only a page near the platform's limit of one value
//! comes row by row instead.

use ars_sql::{Sql, SqlError, Value};

/// Bytes of texts joined inside SQLite. The edge platform allows 2 MB for one value; a page has at most as many
/// commas as its texts have 20 bytes each, the least an event takes.
const MAX_JOINED: i64 = 1_900_000;

/// How a page's statement orders its rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    /// Newest runs first.
    Descending,
    /// Events by seq.
    Ascending,
}

impl Order {
    const fn sql(self) -> &'static str {
        match self {
            Self::Descending => "place DESC, id DESC",
            Self::Ascending => "place",
        }
    }
}

/// A page.
pub(super) struct Page {
    /// Rows read, those without a text included.
    pub count: i64,
    /// `place` and `id` of the last row; `None` when there is none.
    pub last: Option<(f64, String)>,
    /// The texts, separated by commas.
    pub joined: String,
}

/// Reads the page that `rows` yields: a statement with columns `place`, `id` and `text`, in `order` already. A row
/// whose text is NULL is read, but says nothing.
///
/// Beside the lone `max`, SQLite takes bare columns from the row that holds the maximum: here the last one. A named
/// subquery used several times would read more plainly, but SQLite counts the tables of every use against the
/// platform's limits, and a predicate may hold a hundred.
pub(super) fn read(sql: &impl Sql, rows: &str, order: Order, params: &[Value]) -> Result<Page, SqlError> {
    let order = order.sql();
    let statement = format!(
        "SELECT count(*), max(nth), place, id, so_far, \
         group_concat(CASE WHEN so_far <= {MAX_JOINED} THEN text END, ',' ORDER BY nth) FROM (\
         SELECT place, id, text, row_number() OVER page AS nth, \
         sum(coalesce(octet_length(text), 0)) OVER page AS so_far FROM ({rows}) \
         WINDOW page AS (ORDER BY {order} ROWS UNBOUNDED PRECEDING))"
    );
    let found = sql.query(&statement, params)?.into_iter().next();
    let row = found.ok_or_else(|| SqlError::Shape("a count without a row".into()))?;
    let count = row.integer(0)?;
    if count == 0 {
        return Ok(Page { count, last: None, joined: String::new() });
    }
    let last = Some((row.real(2)?, row.text(3)?.to_owned()));
    let joined = match row.integer(4)? {
        too_large if too_large > MAX_JOINED => one_by_one(sql, rows, params)?,
        _ if row.is_null(5) => String::new(),
        _ => row.into_text(5)?,
    };
    Ok(Page { count, last, joined })
}

fn one_by_one(sql: &impl Sql, rows: &str, params: &[Value]) -> Result<String, SqlError> {
    let mut joined = String::new();
    for row in sql.query(rows, params)? {
        if !row.is_null(2) {
            if !joined.is_empty() {
                joined.push(',');
            }
            joined.push_str(row.text(2)?);
        }
    }
    Ok(joined)
}
