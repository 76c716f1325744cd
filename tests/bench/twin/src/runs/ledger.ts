// The ledger of live runs: claim, heartbeat and append.

import { badField, Rejected } from "../answer";
import { integer, isNumber, isObject, type JsonObject, RUN_ID, text } from "../json";
import { keyed, writeEvents } from "./events";

const GENERATION = /^[A-Za-z0-9_.:-]{1,128}$/;
const THREAD = /^[^]{1,256}$/u;
const MAX_EVENT_BYTES = 65_536;
const OK = '{"ok":true}';

const HOLDER = `SELECT live.run_id AS runId, live.owner_gen, live.started_at AS startedAt, live.thread_key,
  CASE WHEN json_type(spec.meta, '$.agent') = 'text' THEN spec.meta ->> '$.agent' END AS agent
  FROM live_runs AS live JOIN live_specs AS spec ON spec.run_id = live.run_id
  WHERE live.thread_key = ?1 OR live.run_id = ?2 ORDER BY live.thread_key = ?1 DESC LIMIT 1`;
const BEAT = `UPDATE live_runs SET lease_until = ?3 WHERE run_id = ?1 AND owner_gen = ?2
  RETURNING json_object('ok', json('true'), 'stop', stop, 'phase', phase) AS answer`;

interface Holder {
  runId: string;
  owner_gen: string;
  startedAt: number;
  thread_key: string;
  agent: string | null;
}

/** Makes a run live on its thread, or answers 409 with the run that has the thread. */
export function claim(storage: DurableObjectStorage, body: JsonObject, now: number): string {
  const { run } = body;
  if (!isObject(run)) throw badField("run", "must be an object");
  const id = text(run, "runId", RUN_ID);
  const thread = text(run, "threadKey", THREAD);
  const generation = text(run, "gen", GENERATION);
  const lease = integer(run, "leaseMs", 1000, 3_600_000);
  const { startedAt, meta, card, system, tools, state = {} } = run;
  if (!isNumber(startedAt)) throw badField("startedAt", "must be a finite number");
  if (!isObject(meta) || !isObject(state)) throw badField("meta", "must be an object");
  if (card !== undefined && card !== null && !isObject(card)) throw badField("card", "must be null or an object");
  if (typeof system !== "string" || !Array.isArray(tools)) throw badField("system", "must be a string, tools an array");
  const [holder] = storage.sql.exec<Holder>(HOLDER, thread, id).toArray();
  if (!holder) {
    storage.transactionSync(() => {
      storage.sql.exec(
        `INSERT INTO live_runs (run_id, thread_key, owner_gen, lease_until, started_at, phase, state)
         VALUES (?, ?, ?, ?, ?, 'live', ?)`,
        ...[id, thread, generation, now + lease, startedAt, JSON.stringify(state)],
      );
      storage.sql.exec(
        "INSERT INTO live_specs (run_id, meta, card, system, tools) VALUES (?, ?, ?, ?, ?)",
        ...[id, JSON.stringify(meta), card ? JSON.stringify(card) : null, system, JSON.stringify(tools)],
      );
    });
    return OK;
  }
  if (holder.runId !== id || holder.owner_gen !== generation || holder.thread_key !== thread) {
    const { runId, agent, startedAt } = holder;
    const live = agent === null ? { runId, startedAt } : { runId, agent, startedAt };
    throw new Rejected(409, { ok: false, reason: "thread-live", live });
  }
  return OK;
}

/** Extends the owner's lease and returns a requested stop. */
export function heartbeat({ sql }: DurableObjectStorage, body: JsonObject, now: number): string {
  const until = now + integer(body, "leaseMs", 1000, 3_600_000);
  return owned<{ answer: string }>(sql, body, BEAT, until).answer;
}

/** Appends events to a live run; an event replaces the one with its seq. */
export function append({ sql }: DurableObjectStorage, body: JsonObject): string {
  const { events } = body;
  if (!Array.isArray(events)) throw badField("events", "must be an array");
  const rows = events.map((event, index) => {
    const seq = isObject(event) ? event.seq : undefined;
    if (!Number.isSafeInteger(seq) || (seq as number) < 1) throw badField(`events[${index}].seq`, "must be at least 1");
    return keyed(seq as number, event, MAX_EVENT_BYTES);
  });
  owned(sql, body, "SELECT 1 FROM live_runs WHERE run_id = ? AND owner_gen = ?");
  writeEvents(sql, String(body.runId), rows);
  return OK;
}

/** Runs an owner's statement, which yields a row if the run is the owner's; else answers 409. */
function owned<Row>(sql: SqlStorage, body: JsonObject, statement: string, ...params: SqlValue[]): Row {
  const id = text(body, "runId", RUN_ID);
  const [row] = sql.exec<Row>(statement, id, text(body, "gen", GENERATION), ...params).toArray();
  if (row !== undefined) return row;
  throw new Rejected(409, { ok: false, reason: isLive(sql, id) ? "fenced" : "unknown-run" });
}

export function isLive(sql: SqlStorage, id: string): boolean {
  return sql.exec("SELECT 1 FROM live_runs WHERE run_id = ?", id).toArray().length > 0;
}
