// The state Worker's TypeScript twin: the routes that `cargo xtask bench state` measures, on the
// same migrations and with the same SQL, written as such a Worker is usually written in TypeScript.
// It is measured and never deployed. Claim and put only fill the store: they check nothing and
// apply no retention.

import { DurableObject } from "cloudflare:workers";
import runsSql from "../../migrations/run-store/0001_runs.sql";
import ledgerSql from "../../migrations/run-store/0002_ledger.sql";
import totalsSql from "../../migrations/run-store/0003_totals.sql";
import plainSql from "../../migrations/run-store/0004_plain.sql";
import idempotencySql from "../../migrations/run-store/0005_idempotency.sql";
import briefSql from "../../migrations/run-store/0006_brief.sql";

const RECORD_BYTES = 2 * 1024 * 1024;
const OTHER_BYTES = 512 * 1024;
const MAX_EVENT_BYTES = 65_536;
/** Bytes of events passed to SQLite in one parameter. */
const MAX_BATCH_BYTES = 1_000_000;
/** Bytes of one answer: above it the Rust Worker reads row by row, which the bench never needs. */
const MAX_JOINED = 1_900_000;
const KEY = /^[^\s\p{C}]{1,200}$/u;
const RUN_ID = /^[A-Za-z0-9_-]{1,64}$/;
const GENERATION = /^[A-Za-z0-9_.:-]{1,128}$/;
const OK = '{"ok":true}';

/** Condition of a row that readers see, with the reader's clock as ?1. */
const VISIBLE = `(finished_at, id) > (SELECT max(oldest, floor_at), iif(oldest > floor_at, '', floor_id) FROM
  (SELECT floor_at, floor_id, ?1 - 86400000 * retention_days AS oldest FROM retention))`;
const GET = `SELECT CASE WHEN item IS NULL THEN '{"record":null}' ELSE
  '{"record":' || substr(item, 1, length(item) - 1) || ',"events":[' || (SELECT
  coalesce(group_concat(text, ',' ORDER BY seq), '') FROM
  (SELECT seq, CASE WHEN json_valid(event) THEN
  CASE WHEN json_type(event, '$.type') = 'text' THEN event END END AS text
  FROM run_events WHERE run_id = ?2)) || ']}}' END AS answer
  FROM (SELECT 1) LEFT JOIN (SELECT record AS item FROM runs
  WHERE id = ?2 AND ${VISIBLE} AND json_valid(record))`;
const LIST = `SELECT '{"items":[' || coalesce(joined, '') || iif(count = ?2, '],"nextBefore":{"finishedAt":' ||
  CAST(place AS INTEGER) || ',"id":"' || id || '"}}', ']}') AS answer
  FROM (SELECT count(*) AS count, max(nth), place, id, so_far,
  group_concat(iif(so_far > ${MAX_JOINED}, NULL, text), ',' ORDER BY nth) AS joined FROM (
  SELECT place, id, text, row_number() OVER page AS nth,
  sum(coalesce(octet_length(text), 0)) OVER page AS so_far FROM
  (SELECT finished_at AS place, id, substr(record, 1, length(record) - 1) || ',"bytes":' || bytes || '}' AS text
  FROM runs WHERE ${VISIBLE} AND json_valid(record) ORDER BY finished_at DESC, id DESC LIMIT ?2)
  WINDOW page AS (ORDER BY place DESC, id DESC ROWS UNBOUNDED PRECEDING)))`;
const OWNED = "SELECT 1 FROM live_runs WHERE run_id = ? AND owner_gen = ?";

class Rejected extends Error {
  constructor(readonly status: number, readonly body: object) {
    super("rejected");
  }
}

const badField = (name: string) => new Rejected(400, { error: `${name} is missing or of another kind` });
const isObject = (value: any) => typeof value === "object" && value !== null && !Array.isArray(value);
const utf8Length = (text: string) => new TextEncoder().encode(text).byteLength;

function text(body: any, name: string, pattern: RegExp): string {
  if (typeof body[name] !== "string" || !pattern.test(body[name])) throw badField(name);
  return body[name];
}

function parse(text: string): any {
  let body;
  try {
    body = JSON.parse(text);
  } catch {}
  if (!isObject(body)) throw badField("body");
  return body;
}

const verbs: Record<string, { maxBytes: number; answer: (storage: any, body: any, now: number) => string }> = {
  "/runs/get": {
    maxBytes: OTHER_BYTES,
    answer: ({ sql }, body, now) => sql.exec(GET, now, text(body, "id", RUN_ID)).one().answer,
  },
  "/runs/list": {
    maxBytes: OTHER_BYTES,
    answer: ({ sql }, { limit = 50 }, now) => {
      if (!Number.isInteger(limit) || limit < 1) throw badField("limit");
      return sql.exec(LIST, now, Math.min(limit, 200)).one().answer;
    },
  },
  "/runs/append": {
    maxBytes: RECORD_BYTES,
    answer: ({ sql }, body) => {
      if (!Array.isArray(body.events)) throw badField("events");
      const events = body.events.map(keyed);
      if (events.some(({ seq, bytes }: Keyed) => !Number.isSafeInteger(seq) || seq < 1 || bytes > MAX_EVENT_BYTES)) {
        throw badField("events");
      }
      const id = text(body, "runId", RUN_ID);
      const isOwned = sql.exec(OWNED, id, text(body, "gen", GENERATION)).toArray().length > 0;
      if (!isOwned) throw new Rejected(409, { ok: false, reason: "fenced" });
      writeEvents(sql, id, events);
      return OK;
    },
  },
  "/runs/claim": {
    maxBytes: OTHER_BYTES,
    answer: ({ sql }, { run }, now) => {
      const { runId, threadKey, gen, leaseMs, startedAt, meta, card, system, tools } = run ?? {};
      text({ runId }, "runId", RUN_ID);
      sql.exec(
        "INSERT INTO live_runs (run_id, thread_key, owner_gen, lease_until, started_at, phase, state) VALUES (?, ?, ?, ?, ?, 'live', '{}')",
        ...[runId, threadKey, gen, now + leaseMs, startedAt],
      );
      const spec = [JSON.stringify(meta), JSON.stringify(card), system, JSON.stringify(tools)];
      sql.exec("INSERT INTO live_specs (run_id, meta, card, system, tools) VALUES (?, ?, ?, ?, ?)", runId, ...spec);
      return OK;
    },
  },
  "/runs/put": {
    maxBytes: RECORD_BYTES,
    answer: ({ sql }, { record: { events, ...record } }, now) => {
      const text = JSON.stringify(record);
      const rows: Keyed[] = events.map(keyed);
      const eventBytes = rows.reduce((sum, event) => sum + event.bytes, Math.max(0, rows.length - 1));
      const bytes = utf8Length(text) + ',"events":[]'.length + eventBytes;
      const brief = JSON.stringify({ ...record, diagnosis: undefined, bytes });
      const { id, finishedAt, eventCount, agent, channelId, userId, repo, channelVisibility } = record;
      sql.exec(
        "REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)",
        ...[id, finishedAt, eventCount, bytes, agent, channelId, userId, repo, channelVisibility, now, text, brief],
      );
      writeEvents(sql, id, rows);
      return OK;
    },
  },
};

interface Keyed {
  seq: number;
  text: string;
  bytes: number;
}

function keyed(event: any): Keyed {
  const text = JSON.stringify(event);
  return { seq: event?.seq, text, bytes: utf8Length(text) };
}

/** Writes events over those of the same seqs, in as few statements as the platform's limit of a value allows. */
function writeEvents(sql: any, run: string, events: Keyed[]): void {
  let [batch, bytes]: [string[], number] = [[], 0];
  const flush = () => {
    const statement = `INSERT OR REPLACE INTO run_events (run_id, seq, event)
      SELECT ?1, CAST(key AS INTEGER), value FROM json_each(?2)`;
    if (batch.length > 0) sql.exec(statement, run, `{${batch.join(",")}}`);
    [batch, bytes] = [[], 0];
  };
  for (const event of events) {
    if (bytes + event.bytes > MAX_BATCH_BYTES) flush();
    batch.push(`"${event.seq}":${event.text}`);
    bytes += event.bytes;
  }
  flush();
}

export class RunStore extends DurableObject {
  constructor(ctx: any, env: any) {
    super(ctx, env);
    const { sql } = ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY) STRICT");
    if (sql.exec("SELECT 1 FROM _migrations").toArray().length > 0) return;
    ctx.storage.transactionSync(() => {
      for (const step of [runsSql, ledgerSql, totalsSql, plainSql, idempotencySql, briefSql]) sql.exec(step);
      sql.exec("INSERT INTO _migrations (name) VALUES ('0006_brief')");
    });
  }

  /** Called by RPC: answers one route's body with a status and the answer's JSON text. */
  answer(path: string, body: string): [status: number, body: string] {
    try {
      return [200, verbs[path].answer(this.ctx.storage, parse(body), Date.now())];
    } catch (error) {
      return failure(error);
    }
  }
}

function failure(error: unknown): [status: number, body: string] {
  if (error instanceof Rejected) return [error.status, JSON.stringify(error.body)];
  console.error("fault:", error);
  return [500, '{"error":"internal"}'];
}

/** Checks a request before it reaches an object: route, method, bearer, length. */
function admit(request: Request, path: string, secret: string): void {
  const verb = verbs[path];
  if (!verb) throw new Rejected(404, { error: "not found" });
  if (request.method !== "POST") throw new Rejected(405, { error: "method not allowed" });
  const [presented, expected] = [request.headers.get("authorization") ?? "", `Bearer ${secret}`].map((value) =>
    new TextEncoder().encode(value),
  );
  const isAuthorized = presented.byteLength === expected.byteLength && crypto.subtle.timingSafeEqual(presented, expected);
  if (!isAuthorized) throw new Rejected(401, { error: "unauthorized" });
  const length = request.headers.get("content-length")?.trim() ?? "";
  if (!/^[0-9]+$/.test(length)) throw new Rejected(411, { error: "a numeric Content-Length is needed" });
  if (Number(length) > verb.maxBytes) throw new Rejected(413, { error: "the body is too large" });
}

export default {
  async fetch(request: Request, env: any): Promise<Response> {
    const json = (status: number, body: string) =>
      new Response(body, { status, headers: { "content-type": "application/json" } });
    try {
      const path = new URL(request.url).pathname;
      if (request.method === "GET" && path === "/healthz") {
        return json(200, '{"ok":true,"features":["memory","friction","schedules","runs"]}');
      }
      admit(request, path, env.MEMORY_TOKEN);
      const body = await request.text();
      const store = text(parse(body), "storeKey", KEY);
      return json(...((await env.RUN_STORE.getByName(store).answer(path, body)) as [number, string]));
    } catch (error) {
      return json(...failure(error));
    }
  },
};
