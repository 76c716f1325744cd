//! Applies the retention to the stored rows.
//!
//! Rows beyond a trim's limit are hidden by the horizon and deleted by a later put or the sweep.

use ars_sql::{Row, Sql, SqlError, Value};
use ars_types::UnixMillis;

use super::horizon::{HIDDEN, VISIBLE, policy};

/// Maximum number of rows that a put deletes.
const MAX_DELETED: i64 = 500;
/// A limit without effect.
const EVERY_ROW: i64 = i64::MAX;
/// Floor if no row is hidden by count or bytes. Every row below it would be expired.
const NO_FLOOR: (f64, &str) = (-9_007_199_254_740_991.0, "");

/// Condition that protects live runs' events from deletion with a tombstone.
pub(super) const NOT_LIVE: &str = "run_id NOT IN (SELECT run_id FROM live_runs)";

/// What a trim did.
pub(super) struct Trimmed {
    /// Number of rows the policy keeps.
    pub retained: i64,
    /// Whether the record just written is among them.
    pub survived: bool,
}

/// Trims after a put of `id`: moves the floor and deletes a bounded number of rows. A hidden new
/// record is deleted first, so that a put reported as not stored leaves no row.
pub(super) fn after_put(sql: &impl Sql, id: &str, now: UnixMillis) -> Result<Trimmed, SqlError> {
    settle(sql)?;
    let survived = is_visible(sql, id, now)?;
    if !survived {
        let events = format!("DELETE FROM run_events WHERE run_id = ? AND {NOT_LIVE}");
        sql.execute(&events, &[Value::from(id)])?;
        sql.execute("DELETE FROM runs WHERE id = ?", &[Value::from(id)])?;
    }
    delete_hidden(sql, MAX_DELETED - i64::from(!survived), now)?;
    Ok(Trimmed {
        retained: count_visible(sql, now)?,
        survived,
    })
}

/// Computes which rows count and bytes exclude, and stores the newest excluded row as the floor.
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

/// Returns the newest excluded row: the last to drop, from the oldest, to be within both limits.
/// This is the same boundary as seen from the newest row, but a put that exceeds a limit finds it within a row or two.
fn newest_excluded(sql: &impl Sql) -> Result<Option<Row>, SqlError> {
    let policy = policy(sql)?;
    let limits = [
        Value::from(policy.max_runs()),
        Value::from(policy.max_bytes()),
    ];
    let over = "SELECT 1 FROM retention WHERE run_count > ?1 OR run_bytes > ?2";
    if sql.query(over, &limits)?.is_empty() {
        return Ok(None);
    }
    for depth in [MAX_DELETED, EVERY_ROW] {
        let found = sql.query(
            EXCLUDED,
            &[limits[0].clone(), limits[1].clone(), Value::from(depth)],
        )?;
        if let Some(row) = found.into_iter().next() {
            return Ok(Some(row));
        }
    }
    // Dropping every row always satisfies the limits, unless the totals were too high. After the recount no row is
    // excluded, or the next put finds it.
    recount(sql)?;
    Ok(None)
}

/// Recomputes the totals. Triggers maintain them, so this repairs changes that bypassed the triggers.
pub(super) fn recount(sql: &impl Sql) -> Result<(), SqlError> {
    sql.execute(
        "UPDATE retention SET run_count = (SELECT count(*) FROM runs), \
         run_bytes = (SELECT coalesce(sum(bytes), 0) FROM runs)",
        &[],
    )
}

/// Examines the oldest ?3 rows.
const EXCLUDED: &str = "SELECT finished_at, id FROM (\
    SELECT finished_at, id, row_number() OVER oldest AS nth, sum(bytes) OVER oldest AS gone FROM \
    (SELECT finished_at, id, bytes FROM runs ORDER BY finished_at, id LIMIT ?3) \
    WINDOW oldest AS (ORDER BY finished_at, id ROWS UNBOUNDED PRECEDING)), retention \
    WHERE run_count - nth <= ?1 AND run_bytes - gone <= ?2 ORDER BY finished_at, id LIMIT 1";

/// Deletes hidden rows and their events, oldest first.
pub(super) fn delete_hidden(sql: &impl Sql, limit: i64, now: UnixMillis) -> Result<i64, SqlError> {
    let victims = format!("SELECT id FROM runs WHERE {HIDDEN} ORDER BY finished_at, id LIMIT ?2");
    let params = [Value::from(now), Value::from(limit)];
    let events = format!("DELETE FROM run_events WHERE run_id IN ({victims}) AND {NOT_LIVE}");
    sql.execute(&events, &params)?;
    let deleted = sql.query(
        &format!("DELETE FROM runs WHERE id IN ({victims}) RETURNING 1"),
        &params,
    )?;
    Ok(i64::try_from(deleted.len()).unwrap_or(i64::MAX))
}

fn is_visible(sql: &impl Sql, id: &str, now: UnixMillis) -> Result<bool, SqlError> {
    let statement = format!("SELECT 1 FROM runs WHERE id = ?2 AND {VISIBLE}");
    Ok(!sql
        .query(&statement, &[Value::from(now), Value::from(id)])?
        .is_empty())
}

/// Returns the number of visible rows, as the total less the hidden rows that are not deleted yet.
fn count_visible(sql: &impl Sql, now: UnixMillis) -> Result<i64, SqlError> {
    let statement =
        format!("SELECT run_count - (SELECT count(*) FROM runs WHERE {HIDDEN}) FROM retention");
    let rows = sql.query(&statement, &[Value::from(now)])?;
    rows.first()
        .ok_or_else(|| SqlError::Shape("a count without a row".into()))?
        .integer(0)
}
