// One run, whole: `{ record }`, null when unknown, expired or hidden (supplement section 5.5).

import { type JsonObject, requiredRunId } from "../json";
import { allEvents, EVENT } from "./events";
import { VISIBLE } from "./horizon";
import { ITEM } from "./item";
import { MAX_JOINED } from "./page";

const NULL = '{"record":null}';

/** The whole answer in one statement; NULL when it is too large for one value. */
const GET = `SELECT CASE WHEN item IS NULL THEN '${NULL}' WHEN octet_length(item) + (SELECT
  coalesce(sum(octet_length(event)), 0) FROM run_events WHERE run_id = ?2) <= ${MAX_JOINED} THEN
  '{"record":' || substr(item, 1, length(item) - 1) || ',"events":[' || (SELECT
  coalesce(group_concat(text, ',' ORDER BY seq), '') FROM
  (SELECT seq, ${EVENT} FROM run_events WHERE run_id = ?2)) || ']}}' END AS answer
  FROM (SELECT 1) LEFT JOIN (SELECT ${ITEM} AS item FROM runs
  WHERE id = ?2 AND ${VISIBLE} AND json_valid(record))`;

export function get(sql: SqlStorage, body: JsonObject, now: number): string {
  const id = requiredRunId(body, "id");
  const { answer } = sql.exec<{ answer: string | null }>(GET, now, id).one();
  return answer ?? rowByRow(sql, id, now);
}

function rowByRow(sql: SqlStorage, id: string, now: number): string {
  const statement = `SELECT ${ITEM} AS item FROM runs WHERE id = ?2 AND ${VISIBLE} AND json_valid(record)`;
  const [row] = sql.exec<{ item: string }>(statement, now, id).toArray();
  if (!row) return NULL;
  // The item is an object with members, so its last character is its closing brace.
  return `{"record":${row.item.slice(0, -1)},"events":[${allEvents(sql, id)}]}}`;
}
