// Applies the retention to the rows on disk (supplement section 7.2).

import { HIDDEN, isVisible } from "./horizon";

/** Rows deleted in one put. The sweep has no such fence. */
const FENCE = 500;
const NO_FENCE = Number.MAX_SAFE_INTEGER;
/** No row is hidden by count or bytes. */
const NO_FLOOR: Position = { finished_at: -9_007_199_254_740_991, id: "" };

const NOT_LIVE = "run_id NOT IN (SELECT run_id FROM live_runs)";

interface Position {
  finished_at: number;
  id: string;
}

/** Looks at the oldest ?3 rows for the last that has to go until those behind it are few and small enough. */
const EXCLUDED = `SELECT finished_at, id FROM (
  SELECT finished_at, id, row_number() OVER oldest AS nth, sum(bytes) OVER oldest AS gone FROM
  (SELECT finished_at, id, bytes FROM runs ORDER BY finished_at, id LIMIT ?3)
  WINDOW oldest AS (ORDER BY finished_at, id ROWS UNBOUNDED PRECEDING)), retention
  WHERE run_count - nth <= ?1 AND run_bytes - gone <= ?2 ORDER BY finished_at, id LIMIT 1`;

const DELETE_ORPHANS = `WITH RECURSIVE held (run_id) AS (
  SELECT min(run_id) FROM run_events
  UNION ALL
  SELECT (SELECT min(run_id) FROM run_events WHERE run_id > held.run_id) FROM held WHERE run_id IS NOT NULL)
  DELETE FROM run_events WHERE run_id IN (
  SELECT run_id FROM held WHERE run_id IS NOT NULL AND run_id NOT IN (SELECT id FROM runs)
  AND run_id NOT IN (SELECT run_id FROM live_runs))`;

/** After a put of `id`: settles the floor, then deletes at most the fence, the record itself first if it is hidden. */
export function trimAfterPut(sql: SqlStorage, id: string, now: number): { retained: number; survived: boolean } {
  settle(sql);
  const survived = isVisible(sql, id, now);
  if (!survived) {
    sql.exec(`DELETE FROM run_events WHERE run_id = ? AND ${NOT_LIVE}`, id);
    sql.exec("DELETE FROM runs WHERE id = ?", id);
  }
  deleteHidden(sql, survived ? FENCE : FENCE - 1, now);
  const count = `SELECT run_count - (SELECT count(*) FROM runs WHERE ${HIDDEN}) AS retained FROM retention`;
  const { retained } = sql.exec<{ retained: number }>(count, now).one();
  return { retained, survived };
}

/** The periodic sweep: everything hidden goes, and events of no run. */
export function sweep(storage: DurableObjectStorage, now: number): void {
  const { sql } = storage;
  storage.transactionSync(() => {
    settle(sql);
    deleteHidden(sql, NO_FENCE, now);
    sql.exec(DELETE_ORPHANS);
  });
}

/** Works out which rows count and bytes exclude, and remembers the newest of them for readers. */
function settle(sql: SqlStorage): void {
  const floor = newestExcluded(sql) ?? NO_FLOOR;
  sql.exec(
    "UPDATE retention SET floor_at = ?1, floor_id = ?2 WHERE (floor_at, floor_id) <> (?1, ?2)",
    floor.finished_at,
    floor.id,
  );
}

function newestExcluded(sql: SqlStorage): Position | undefined {
  const { max_runs, max_bytes } = sql
    .exec<{ max_runs: number; max_bytes: number }>("SELECT retention_days, max_runs, max_bytes FROM retention")
    .one();
  const over = "SELECT 1 FROM retention WHERE run_count > ?1 OR run_bytes > ?2";
  if (sql.exec(over, max_runs, max_bytes).toArray().length === 0) return undefined;
  for (const depth of [FENCE, NO_FENCE]) {
    const [found] = sql.exec<Position>(EXCLUDED, max_runs, max_bytes, depth).toArray();
    if (found) return found;
  }
  throw new Error("the totals of runs do not add up");
}

/** Deletes hidden rows and their events, oldest first. */
function deleteHidden(sql: SqlStorage, fence: number, now: number): void {
  const victims = `SELECT id FROM runs WHERE ${HIDDEN} ORDER BY finished_at, id LIMIT ?2`;
  sql.exec(`DELETE FROM run_events WHERE run_id IN (${victims}) AND ${NOT_LIVE}`, now, fence);
  sql.exec(`DELETE FROM runs WHERE id IN (${victims}) RETURNING 1`, now, fence);
}
