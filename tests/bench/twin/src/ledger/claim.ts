// Makes a run live on its thread: `{ ok: true }`, or 409 with who holds the thread (supplement section 9.3).

import { badField, Conflict, Refused } from "../answer";
import {
  isFiniteNumber,
  isObject,
  isShort,
  type JsonObject,
  requiredRunId,
} from "../json";
import { OK, readGeneration, readLeaseMs } from "./fence";

/** Longest thread key, in characters. */
const MAX_THREAD_CHARS = 256;

interface Claim {
  run: string;
  thread: string;
  generation: string;
  leaseMs: number;
  startedAt: number;
  meta: string;
  card: string | null;
  system: string;
  tools: string;
  state: string;
}

interface Holder {
  run_id: string;
  owner_gen: string;
  started_at: number;
  thread_key: string;
  agent: string | null;
}

const HOLDER = `SELECT live.run_id, live.owner_gen, live.started_at, live.thread_key,
  CASE WHEN json_type(spec.meta, '$.agent') = 'text' THEN spec.meta ->> '$.agent' END AS agent
  FROM live_runs AS live JOIN live_specs AS spec ON spec.run_id = live.run_id
  WHERE live.thread_key = ?1 OR live.run_id = ?2 ORDER BY live.thread_key = ?1 DESC LIMIT 1`;

export function claim(storage: DurableObjectStorage, body: JsonObject, now: number): string {
  const claim = read(body);
  const [holder] = storage.sql.exec<Holder>(HOLDER, claim.thread, claim.run).toArray();
  if (!holder) {
    insert(storage, claim, now);
    return OK;
  }
  const isHeld =
    holder.run_id === claim.run && holder.owner_gen === claim.generation && holder.thread_key === claim.thread;
  if (!isHeld) {
    const { run_id: runId, agent, started_at: startedAt } = holder;
    const live = agent === null ? { runId, startedAt } : { runId, agent, startedAt };
    throw new Conflict({ ok: false, reason: "thread-live", live });
  }
  return OK;
}

function insert(storage: DurableObjectStorage, claim: Claim, now: number): void {
  const { sql } = storage;
  storage.transactionSync(() => {
    sql.exec(
      `INSERT INTO live_runs (run_id, thread_key, owner_gen, lease_until, started_at, phase, state)
       VALUES (?, ?, ?, ?, ?, 'live', ?)`,
      claim.run,
      claim.thread,
      claim.generation,
      now + claim.leaseMs,
      claim.startedAt,
      claim.state,
    );
    sql.exec(
      "INSERT INTO live_specs (run_id, meta, card, system, tools) VALUES (?, ?, ?, ?, ?)",
      claim.run,
      claim.meta,
      claim.card,
      claim.system,
      claim.tools,
    );
  });
}

function read(body: JsonObject): Claim {
  const { run } = body;
  if (!isObject(run)) throw badField("run", "must be an object");
  try {
    return readRun(run);
  } catch (error) {
    throw error instanceof Refused ? new Refused(error.status, `run.${error.message}`) : error;
  }
}

function readRun(run: JsonObject): Claim {
  const id = requiredRunId(run, "runId");
  const { threadKey, startedAt, system, tools } = run;
  if (!isShort(threadKey, MAX_THREAD_CHARS) || threadKey === "") {
    throw badField("threadKey", "must be a string of 1 to 256 characters");
  }
  const generation = readGeneration(run);
  const leaseMs = readLeaseMs(run);
  if (!isFiniteNumber(startedAt)) throw badField("startedAt", "must be a finite number");
  const meta = object(run, "meta");
  const card = readCard(run);
  if (typeof system !== "string") throw badField("system", "must be a string");
  if (!Array.isArray(tools)) throw badField("tools", "must be an array");
  return {
    run: id,
    thread: threadKey,
    generation,
    leaseMs,
    startedAt,
    meta,
    card,
    system,
    tools: JSON.stringify(tools),
    state: run.state === undefined ? "{}" : object(run, "state"),
  };
}

function object(run: JsonObject, name: string): string {
  if (!isObject(run[name])) throw badField(name, "must be an object");
  return JSON.stringify(run[name]);
}

function readCard({ card }: JsonObject): string | null {
  if (card === undefined || card === null) return null;
  if (isObject(card) && typeof card.channel === "string" && typeof card.ts === "string") {
    return JSON.stringify(card);
  }
  throw badField("card", "must be null or an object with a string channel and ts");
}
