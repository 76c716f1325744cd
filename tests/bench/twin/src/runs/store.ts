// The run store: finished runs (supplement sections 5 to 7) and the ledger of live ones (section 9).

import ledgerSql from "../../../../../migrations/run-store/0002_ledger.sql";
import runsSql from "../../../../../migrations/run-store/0001_runs.sql";
import totalsSql from "../../../../../migrations/run-store/0003_totals.sql";
import plainSql from "../../../../../migrations/run-store/0004_plain.sql";
import type { Env } from "../gate";
import { append } from "../ledger/append";
import { claim } from "../ledger/claim";
import { heartbeat } from "../ledger/heartbeat";
import { live } from "../ledger/live";
import { StoreObject, type Verb } from "../store-object";
import { events } from "./events";
import { get } from "./get";
import { list } from "./list";
import { put } from "./put";
import { sweep } from "./trim";

/** How often hidden rows are swept (section 7.2). */
const SWEEP_EVERY_MS = 6 * 60 * 60 * 1000;

export class RunStore extends StoreObject {
  protected readonly verbs: Map<string, Verb>;
  #armed = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, [
      { name: "0001_runs", sql: runsSql },
      { name: "0002_ledger", sql: ledgerSql },
      { name: "0003_totals", sql: totalsSql },
      { name: "0004_plain", sql: plainSql },
    ]);
    const { storage } = ctx;
    this.verbs = new Map<string, Verb>([
      ["/runs/put", (body, now) => put(storage, body, now)],
      ["/runs/get", (body, now) => get(storage.sql, body, now)],
      ["/runs/list", (body, now) => list(storage.sql, body, now)],
      ["/runs/events", (body, now) => events(storage.sql, body, now)],
      ["/runs/claim", (body, now) => claim(storage, body, now)],
      ["/runs/live", () => live(storage.sql)],
      ["/runs/heartbeat", (body, now) => heartbeat(storage.sql, body, now)],
      ["/runs/append", (body) => append(storage, body)],
    ]);
  }

  async alarm(): Promise<void> {
    sweep(this.ctx.storage, Date.now());
    await this.ctx.storage.setAlarm(Date.now() + SWEEP_EVERY_MS);
  }

  protected override followUp(path: string): void {
    if (this.#armed || path !== "/runs/put") return;
    this.#armed = true;
    void this.#arm();
  }

  async #arm(): Promise<void> {
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + SWEEP_EVERY_MS);
  }
}
