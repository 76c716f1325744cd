// What is remembered in one scope (supplement section 2).

import recordsSql from "../../../../../migrations/memory-scope/0001_records.sql";
import type { Env } from "../gate";
import { StoreObject, type Verb } from "../store-object";
import { retrieve } from "./retrieve";
import { write } from "./write";

export class MemoryScope extends StoreObject {
  protected readonly verbs: Map<string, Verb>;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, [{ name: "0001_records", sql: recordsSql }]);
    const { storage } = ctx;
    this.verbs = new Map<string, Verb>([
      ["/retrieve", (body, now) => retrieve(storage.sql, body, now)],
      ["/write", (body, now) => write(storage, body, now)],
    ]);
  }
}
