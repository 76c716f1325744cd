// What a writer hears who does not own the run (supplement section 9.3).

import { badField, Conflict } from "../answer";
import { integer, type JsonObject, requiredRunId } from "../json";

export const OK = '{"ok":true}';

export interface OwnerWrite {
  run: string;
  generation: string;
}

export function readOwnerWrite(body: JsonObject): OwnerWrite {
  return { run: requiredRunId(body, "runId"), generation: readGeneration(body) };
}

export function readGeneration(body: JsonObject): string {
  const { gen } = body;
  if (typeof gen !== "string" || !/^[A-Za-z0-9_.:-]{1,128}$/.test(gen)) {
    throw badField("gen", "must be 1 to 128 letters, digits, `_`, `.`, `:` or `-`");
  }
  return gen;
}

export function readLeaseMs(body: JsonObject): number {
  const rule = "must be an integer from 1000 to 3600000";
  const lease = integer(body, "leaseMs", 1000, 3_600_000, rule);
  if (lease === undefined) throw badField("leaseMs", rule);
  return lease;
}

export function isLive(sql: SqlStorage, id: string): boolean {
  return sql.exec("SELECT 1 FROM live_runs WHERE run_id = ?", id).toArray().length > 0;
}

/** Runs the one statement of an owner write, which yields a row when its condition holds; else refuses. */
export function owned<Row>(sql: SqlStorage, write: OwnerWrite, statement: string, ...params: SqlValue[]): Row {
  const [row] = sql.exec<Row>(statement, write.run, write.generation, ...params).toArray();
  if (row === undefined) {
    throw new Conflict({ ok: false, reason: isLive(sql, write.run) ? "fenced" : "unknown-run" });
  }
  return row;
}
