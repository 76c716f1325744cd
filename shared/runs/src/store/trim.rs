//! Applies the retention to the rows on disk (state-worker supplement section 7.2).
//!
//! What a trim has no room to delete is hidden by the horizon and goes with a later put or the sweep.

use ars_sql::{Row, Sql, SqlError, Value};
use ars_types::UnixMillis;

use super::horizon::{HIDDEN, VISIBLE, policy};

/// Rows deleted in one put (document 2 section 8).
const FENCE: i64 = 500;
/// As good as no limit.
const EVERY_ROW: i64 = i64::MAX;
/// No row is hidden by count or bytes. Every row that could lie below is expired.
const NO_FLOOR: (f64, &str) = (-9_007_199_254_740_991.0, "");

/// Events that no record may take along: those of a live run are the ledger's, whatever becomes of its tombstone.
pub(super) const NOT_LIVE: &str = "run_id NOT IN (SELECT run_id FROM live_runs)";

/// What is left.
pub(super) struct Trimmed {
    /// Rows the policy keeps.
    pub retained: i64,
    /// The record just written is among them.
    pub survived: bool,
}

/// After a put of `id`: settles the horizon, deletes at most the fence, the record itself first if it is hidden, so
/// that a put which says it was not stored leaves nothing.
pub(super) fn after_put(sql: &impl Sql, id: &str, now: UnixMillis) -> Result<Trimmed, SqlError> {
    settle(sql)?;
    let survived = is_visible(sql, id, now)?;
    if !survived {
        let events = format!("DELETE FROM run_events WHERE run_id = ? AND {NOT_LIVE}");
        sql.execute(&events, &[Value::from(id)])?;
        sql.execute("DELETE FROM runs WHERE id = ?", &[Value::from(id)])?;
    }
    delete_hidden(sql, FENCE - i64::from(!survived), now)?;
    Ok(Trimmed { retained: count_visible(sql, now)?, survived })
}

/// Works out which rows count and bytes exclude, and remembers the newest of them for readers.
pub(super) fn settle(sql: &impl Sql) -> Result<(), SqlError> {
    let (at, id) = match newest_excluded(sql)? {
        Some(row) => (row.real(0)?, row.into_text(1)?),
        None => (NO_FLOOR.0, NO_FLOOR.1.to_owned()),
    };
    sql.execute(
        "UPDATE retention SET floor_at = ?1, floor_id = ?2 WHERE (floor_at, floor_id) <> (?1, ?2)",
        &[Value::from(at), Value::from(id)],
    )
}

/// The last row, from the oldest, that has to go until those behind it are few and small enough. What is kept is the
/// longest run of newest rows within both limits, so this is the same line drawn from the other end, where a put
/// that goes over a limit finds it within a row or two.
fn newest_excluded(sql: &impl Sql) -> Result<Option<Row>, SqlError> {
    let policy = policy(sql)?;
    let limits = [Value::from(policy.max_runs()), Value::from(policy.max_bytes())];
    let over = "SELECT 1 FROM retention WHERE run_count > ?1 OR run_bytes > ?2";
    if sql.query(over, &limits)?.is_empty() {
        return Ok(None);
    }
    for depth in [FENCE, EVERY_ROW] {
        let found = sql.query(EXCLUDED, &[limits[0].clone(), limits[1].clone(), Value::from(depth)])?;
        if let Some(row) = found.into_iter().next() {
            return Ok(Some(row));
        }
    }
    // Dropping everything always ends within the limits, unless the totals were wrong: then there is too little to
    // drop. Put right, they leave nothing to be dropped, or the next put finds it.
    recount(sql)?;
    Ok(None)
}

/// Counts and adds up once more. The triggers keep the totals; this is for what they never saw.
pub(super) fn recount(sql: &impl Sql) -> Result<(), SqlError> {
    sql.execute(
        "UPDATE retention SET run_count = (SELECT count(*) FROM runs), \
         run_bytes = (SELECT coalesce(sum(bytes), 0) FROM runs)",
        &[],
    )
}

/// Looks at the oldest ?3 rows.
const EXCLUDED: &str = "SELECT finished_at, id FROM (\
    SELECT finished_at, id, row_number() OVER oldest AS nth, sum(bytes) OVER oldest AS gone FROM \
    (SELECT finished_at, id, bytes FROM runs ORDER BY finished_at, id LIMIT ?3) \
    WINDOW oldest AS (ORDER BY finished_at, id ROWS UNBOUNDED PRECEDING)), retention \
    WHERE run_count - nth <= ?1 AND run_bytes - gone <= ?2 ORDER BY finished_at, id LIMIT 1";

/// Deletes hidden rows and their events, oldest first.
pub(super) fn delete_hidden(sql: &impl Sql, fence: i64, now: UnixMillis) -> Result<i64, SqlError> {
    let victims = format!("SELECT id FROM runs WHERE {HIDDEN} ORDER BY finished_at, id LIMIT ?2");
    let params = [Value::from(now), Value::from(fence)];
    let events = format!("DELETE FROM run_events WHERE run_id IN ({victims}) AND {NOT_LIVE}");
    sql.execute(&events, &params)?;
    let deleted = sql.query(&format!("DELETE FROM runs WHERE id IN ({victims}) RETURNING 1"), &params)?;
    Ok(i64::try_from(deleted.len()).unwrap_or(i64::MAX))
}

fn is_visible(sql: &impl Sql, id: &str, now: UnixMillis) -> Result<bool, SqlError> {
    let statement = format!("SELECT 1 FROM runs WHERE id = ?2 AND {VISIBLE}");
    Ok(!sql.query(&statement, &[Value::from(now), Value::from(id)])?.is_empty())
}

/// From the totals, so that only hidden rows are counted: those that no trim has got to yet.
fn count_visible(sql: &impl Sql, now: UnixMillis) -> Result<i64, SqlError> {
    let statement = format!("SELECT run_count - (SELECT count(*) FROM runs WHERE {HIDDEN}) FROM retention");
    let rows = sql.query(&statement, &[Value::from(now)])?;
    rows.first().ok_or_else(|| SqlError::Shape("a count without a row".into()))?.integer(0)
}
