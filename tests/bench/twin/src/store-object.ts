// What both kinds of object share: migrations on waking, and one synchronous span for each request.

import { DurableObject } from "cloudflare:workers";
import { failure, type Reply } from "./answer";
import type { Env } from "./gate";
import { type JsonObject, parseBody } from "./json";

/** Answers one route's body with the answer's JSON text. */
export type Verb = (storage: DurableObjectStorage, body: JsonObject, now: number) => string;

export abstract class StoreObject extends DurableObject<Env> {
  protected abstract readonly verbs: Map<string, Verb>;

  constructor(ctx: DurableObjectState, env: Env, migrations: [name: string, sql: string][]) {
    super(ctx, env);
    migrate(ctx.storage, migrations);
  }

  /** Called by RPC: a success is its text, any other answer has its status. */
  answer(path: string, text: string): Reply {
    try {
      const verb = this.verbs.get(path);
      if (!verb) return [404, '{"error":"not found"}'];
      return verb(this.ctx.storage, parseBody(text), Date.now());
    } catch (error) {
      return failure(error);
    }
  }
}

/** Applies the migrations of the Rust Worker, with the same history table. */
function migrate(storage: DurableObjectStorage, steps: [name: string, sql: string][]): void {
  const { sql } = storage;
  sql.exec("CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY) STRICT");
  const applied = new Set(sql.exec<{ name: string }>("SELECT name FROM _migrations").toArray().map((row) => row.name));
  for (const [name, text] of steps) {
    if (applied.has(name)) continue;
    storage.transactionSync(() => {
      sql.exec(text);
      sql.exec("INSERT INTO _migrations (name) VALUES (?)", name);
    });
  }
}
