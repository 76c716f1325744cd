// A page of one run's events: `{ events, nextAfterSeq? }` (supplement section 5.5).

import { integer, type JsonObject, requiredRunId } from "../json";
import { isVisible } from "./horizon";
import { answerPage, joinTexts } from "./page";

const DEFAULT_LIMIT = 1000;
const MAX_LIMIT = 5000;

/** A row that is no event is skipped: bad JSON, or no type. */
export const EVENT = `CASE WHEN json_valid(event) THEN
  CASE WHEN json_type(event, '$.type') = 'text' THEN event END END AS text`;

const PAGE = {
  rows: `SELECT seq AS place, '' AS id, ${EVENT} FROM run_events
    WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3`,
  order: "place",
  before: `'{"events":['`,
  after: `iif(count = ?3 AND EXISTS (SELECT 1 FROM run_events WHERE run_id = ?1 AND seq > place),
    '],"nextAfterSeq":' || CAST(place AS INTEGER) || '}', ']}')`,
};

export function events(sql: SqlStorage, body: JsonObject, now: number): string {
  const id = requiredRunId(body, "id");
  const after = integer(body, "afterSeq", 0, Infinity, "must be an integer of at least 0") ?? 0;
  const limit = integer(body, "limit", 1, MAX_LIMIT, "must be an integer from 1 to 5000") ?? DEFAULT_LIMIT;
  if (!isVisible(sql, id, now)) return '{"events":null}';
  return answerPage(sql, PAGE, [id, after, limit]);
}

/** Every event of a run, in seq order, separated by commas. */
export function allEvents(sql: SqlStorage, id: string): string {
  const statement = `SELECT ${EVENT} FROM run_events WHERE run_id = ?1 ORDER BY seq`;
  return joinTexts(sql.exec<{ text: string | null }>(statement, id).toArray());
}
