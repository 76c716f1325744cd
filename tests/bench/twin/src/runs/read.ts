// Reads of finished runs: one record, a page of the list, a page of events. Answers are put together inside SQLite.

import { isNumber, integer, type JsonObject, RUN_ID, text } from "../json";
import { badField } from "../answer";

/** Bytes of one answer: above it the Rust Worker reads row by row, which the bench never needs. */
const MAX_JOINED = 1_900_000;

/** The newest hidden position; ?1 is the reader's clock. */
const HORIZON = `(SELECT max(oldest, floor_at), iif(oldest > floor_at, '', floor_id) FROM
  (SELECT floor_at, floor_id, ?1 - 86400000 * retention_days AS oldest FROM retention))`;
/** Conditions of a row, with the clock as ?1. */
export const VISIBLE = `(finished_at, id) > ${HORIZON}`;
export const HIDDEN = `(finished_at, id) <= ${HORIZON}`;

const EVENT = `CASE WHEN json_valid(event) THEN
  CASE WHEN json_type(event, '$.type') = 'text' THEN event END END AS text`;
const GET = `SELECT CASE WHEN item IS NULL THEN '{"record":null}' ELSE
  '{"record":' || substr(item, 1, length(item) - 1) || ',"events":[' || (SELECT
  coalesce(group_concat(text, ',' ORDER BY seq), '') FROM
  (SELECT seq, ${EVENT} FROM run_events WHERE run_id = ?2)) || ']}}' END AS answer
  FROM (SELECT 1) LEFT JOIN (SELECT record AS item FROM runs
  WHERE id = ?2 AND ${VISIBLE} AND json_valid(record))`;

export function get({ sql }: DurableObjectStorage, body: JsonObject, now: number): string {
  return sql.exec<{ answer: string }>(GET, now, text(body, "id", RUN_ID)).one().answer;
}

export function isVisible(sql: SqlStorage, id: string, now: number): boolean {
  return sql.exec(`SELECT 1 FROM runs WHERE id = ?2 AND ${VISIBLE}`, now, id).toArray().length > 0;
}

/** Answers a page of the newest runs, without their events. */
export function list({ sql }: DurableObjectStorage, body: JsonObject, now: number): string {
  const limit = Math.min(integer(body, "limit", 1, Infinity, 50), 200);
  const { before } = body;
  if (before !== undefined && !isNumber(before)) throw badField("before", "must be a finite number");
  const beforeId = body.beforeId === undefined ? "" : text(body, "beforeId", RUN_ID);
  const older = before === undefined ? "" : "AND (finished_at, id) < (?3, ?4)";
  const rows = `SELECT finished_at AS place, id, substr(record, 1, length(record) - 1) || ',"bytes":' || bytes || '}'
    AS text FROM runs WHERE ${VISIBLE} AND json_valid(record) ${older} ORDER BY finished_at DESC, id DESC LIMIT ?2`;
  const after = `iif(count = ?2, '],"nextBefore":{"finishedAt":' || CAST(place AS INTEGER) || ',"id":"' || id || '"}}',
    ']}')`;
  const params = before === undefined ? [now, limit] : [now, limit, before, beforeId];
  return page(sql, { rows, order: "place DESC, id DESC", name: "items", after }, params);
}

/** Answers a page of a run's events. */
export function events({ sql }: DurableObjectStorage, body: JsonObject, now: number): string {
  const id = text(body, "id", RUN_ID);
  const afterSeq = integer(body, "afterSeq", 0, Infinity, 0);
  const limit = integer(body, "limit", 1, 5000, 1000);
  if (!isVisible(sql, id, now)) return '{"events":null}';
  const rows = `SELECT seq AS place, '' AS id, ${EVENT} FROM run_events
    WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3`;
  const after = `iif(count = ?3 AND EXISTS (SELECT 1 FROM run_events WHERE run_id = ?1 AND seq > place),
    '],"nextAfterSeq":' || CAST(place AS INTEGER) || '}', ']}')`;
  return page(sql, { rows, order: "place", name: "events", after }, [id, afterSeq, limit]);
}

interface Page {
  /** A statement that yields `place`, `id` and `text`, in order. */
  rows: string;
  order: string;
  name: string;
  /** SQL of the end of the answer, over `count`, and `place` and `id` of the last row. */
  after: string;
}

function page(sql: SqlStorage, { rows, order, name, after }: Page, params: SqlValue[]): string {
  const statement = `SELECT '{"${name}":[' || coalesce(joined, '') || ${after} AS answer
    FROM (SELECT count(*) AS count, max(nth), place, id, so_far,
    group_concat(iif(so_far > ${MAX_JOINED}, NULL, text), ',' ORDER BY nth) AS joined FROM (
    SELECT place, id, text, row_number() OVER page AS nth,
    sum(coalesce(octet_length(text), 0)) OVER page AS so_far FROM (${rows})
    WINDOW page AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)))`;
  return sql.exec<{ answer: string }>(statement, ...params).one().answer;
}
