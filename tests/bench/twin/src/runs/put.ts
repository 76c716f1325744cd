// Writes a record and applies the retention, in one transaction.

import { badField } from "../answer";
import { isNumber, isObject, type Json, type JsonObject, RUN_ID, utf8Length } from "../json";
import { keyed, type KeyedEvent, writeEvents } from "./events";
import { isLive } from "./ledger";
import { HIDDEN, isVisible } from "./read";

/** How far ahead of the store's clock a run may have finished. */
const MAX_AHEAD_MS = 24 * 60 * 60 * 1000;
/** Bytes of one stored text. */
const MAX_TEXT_BYTES = 2_100_000;
/** Hidden rows that one put deletes. */
const MAX_DELETED = 500;
/** In the column `plain`: stored as readers see it. The bench writes no other records. */
const PLAIN = 1;

type Rule = (value: Json | undefined) => boolean;
const isText: Rule = (value) => typeof value === "string";
const isFlag: Rule = (value) => typeof value === "boolean";
const isCount: Rule = (value) => Number.isInteger(value) && (value as number) >= 0;
const oneOf = (words: string): Rule => (value) => isText(value) && words.split(" ").includes(value as string);
const optional = (rule: Rule): Rule => (value) => value === undefined || rule(value);
const named = (names: string, rule: Rule): [string, Rule][] => names.split(" ").map((name) => [name, rule]);

const RULES: [string, Rule][] = [
  ["id", (value) => isText(value) && RUN_ID.test(value as string)],
  ...named("channelId userId threadKey", isText),
  ...named("startedAt finishedAt eventCount storedEventCount", isNumber),
  ["status", oneOf("completed stopped_soft stopped_hard failed interrupted")],
  ["truncated", isFlag],
  ...named("label agent model repo activity sourceUrl userName", optional(isText)),
  ["channelVisibility", oneOf("public private dm machine unknown")],
  ...named("receivedAt sealedAt", optional(isNumber)),
  ["replyOk", optional(isFlag)],
  ...named("stepCount schema", optional(isCount)),
];

export function put(storage: DurableObjectStorage, body: JsonObject, now: number): string {
  const { record, text, events, bytes } = read(body.record, now);
  return storage.transactionSync(() => {
    const { sql } = storage;
    const id = String(record.id);
    const [earlier] = sql.exec<JsonObject>("SELECT event_count, finished_at, bytes FROM runs WHERE id = ?", id).toArray();
    const columns = [record.finishedAt, record.eventCount, bytes, record.agent ?? "", record.channelId, record.userId];
    sql.exec(
      `REPLACE INTO runs (id, finished_at, event_count, bytes, agent, channel_id, user_id, repo, visibility,
       stored_at, record, plain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...([id, ...columns, record.repo ?? "", record.channelVisibility, now, text, PLAIN] as SqlValue[]),
    );
    const isOther =
      earlier?.event_count !== record.eventCount ||
      earlier?.finished_at !== record.finishedAt ||
      earlier?.bytes !== bytes;
    if (isOther) {
      if (!isLive(sql, id)) sql.exec("DELETE FROM run_events WHERE run_id = ?", id);
      writeEvents(sql, id, events);
    }
    return JSON.stringify({ ok: true, ...trim(sql, id, now), rewritten: earlier !== undefined && isOther });
  });
}

/** Checks a record as the Rust Worker does and serializes it without its events. */
function read(accepted: Json | undefined, now: number) {
  if (!isObject(accepted)) throw badField("record", "must be an object");
  const bad = RULES.find(([name, rule]) => !rule(accepted[name]));
  if (bad) throw badField(`record.${bad[0]}`, "is missing or of another kind");
  const { events, ...record } = accepted;
  if (!Array.isArray(events) || !events.every((event) => isObject(event) && isText(event.type))) {
    throw badField("record.events", "must be an array of objects with a type");
  }
  checkDiagnosis(record.diagnosis);
  for (const name of ["finishedAt", "receivedAt", "sealedAt"]) {
    const time = record[name];
    if (isNumber(time) && time > now + MAX_AHEAD_MS) record[name] = now + MAX_AHEAD_MS;
  }
  const text = JSON.stringify(record);
  const rows = (events as JsonObject[]).map((event): KeyedEvent => keyed(event.seq as number, event, MAX_TEXT_BYTES));
  const eventBytes = rows.reduce((sum, event) => sum + event.bytes, Math.max(0, rows.length - 1));
  return { record, text, events: rows, bytes: utf8Length(text) + ',"events":[]'.length + eventBytes };
}

function checkDiagnosis(diagnosis: Json | undefined): void {
  const isTotal = (total: Json | undefined) => isObject(total) && isNumber(total.count) && isNumber(total.durationMs);
  const isSound =
    isObject(diagnosis) &&
    Array.isArray(diagnosis.findings) &&
    isNumber(diagnosis.eventCount) &&
    isText(diagnosis.verdict) &&
    isObject(diagnosis.byCategory) &&
    Object.values(diagnosis.byCategory).every(isTotal);
  if (!isSound) throw badField("record.diagnosis", "must be a diagnosis");
}

/** Deletes hidden rows, oldest first, the record itself included. The bench never exceeds count or bytes. */
function trim(sql: SqlStorage, id: string, now: number): { retained: number; stored: boolean } {
  const over = "SELECT 1 FROM retention WHERE run_count > max_runs OR run_bytes > max_bytes";
  if (sql.exec(over).toArray().length > 0) throw new Error("the bench filled more than the retention keeps");
  const stored = isVisible(sql, id, now);
  const victims = `SELECT id FROM runs WHERE ${HIDDEN} ORDER BY finished_at, id LIMIT ?2`;
  const notLive = "run_id NOT IN (SELECT run_id FROM live_runs)";
  sql.exec(`DELETE FROM run_events WHERE run_id IN (${victims}) AND ${notLive}`, now, MAX_DELETED);
  sql.exec(`DELETE FROM runs WHERE id IN (${victims}) RETURNING 1`, now, MAX_DELETED);
  const count = `SELECT run_count - (SELECT count(*) FROM runs WHERE ${HIDDEN}) AS retained FROM retention`;
  return { retained: sql.exec<{ retained: number }>(count, now).one().retained, stored };
}
