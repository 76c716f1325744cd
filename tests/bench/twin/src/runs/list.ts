// Runs without their events, newest first: `{ items, nextBefore? }` (supplement sections 5.5 and 6).

import { finite, integer, type JsonObject, runId, shortText } from "../json";
import { VISIBLE } from "./horizon";
import { LISTED } from "./item";
import { answerPage } from "./page";
import { compile, parseFilter } from "./visible-to";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const MAX_FILTER_CHARS = 200;

export function list(sql: SqlStorage, body: JsonObject, now: number): string {
  const asked = integer(body, "limit", 1, Infinity, "must be an integer of at least 1") ?? DEFAULT_LIMIT;
  const limit = Math.min(asked, MAX_LIMIT);
  const before = finite(body, "before");
  const beforeId = runId(body, "beforeId") ?? "";
  const since = finite(body, "sinceMs");
  const agent = shortText(body, "agent", MAX_FILTER_CHARS);
  const channel = shortText(body, "channel", MAX_FILTER_CHARS);
  const filter = body.visibleTo === undefined ? undefined : parseFilter(body.visibleTo);

  const params: SqlValue[] = [now];
  const bind = (value: SqlValue) => `?${params.push(value)}`;
  const conditions = [VISIBLE, "json_valid(record)"];
  if (before !== undefined) conditions.push(`(finished_at, id) < (${bind(before)}, ${bind(beforeId)})`);
  if (since !== undefined) conditions.push(`finished_at >= ${bind(since)}`);
  if (agent !== undefined) conditions.push(`agent = ${bind(agent)}`);
  if (channel !== undefined) conditions.push(`channel_id = ${bind(channel)}`);
  const limitParam = bind(limit);
  if (filter) {
    const condition = compile(filter, `?${params.length + 1}`);
    if (condition === false) return '{"items":[]}';
    if (condition !== true) {
      bind(JSON.stringify(condition.lists));
      conditions.push(condition.sql);
    }
  }
  const page = {
    rows: `SELECT finished_at AS place, id, ${LISTED} AS text FROM runs
      WHERE ${conditions.join(" AND ")} ORDER BY finished_at DESC, id DESC LIMIT ${limitParam}`,
    order: "place DESC, id DESC",
    before: `'{"items":['`,
    after: `iif(count = ${limit}, '],"nextBefore":{"finishedAt":' || iif(place = CAST(place AS INTEGER),
      CAST(place AS INTEGER), printf('%!.17g', place)) || ',"id":"' || id || '"}}', ']}')`,
  };
  return answerPage(sql, page, params);
}
