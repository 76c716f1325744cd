// The run store: finished runs and the ledger of live ones.

import runsSql from "../../../../migrations/run-store/0001_runs.sql";
import ledgerSql from "../../../../migrations/run-store/0002_ledger.sql";
import totalsSql from "../../../../migrations/run-store/0003_totals.sql";
import plainSql from "../../../../migrations/run-store/0004_plain.sql";
import type { Env } from "./gate";
import { append, claim, heartbeat } from "./runs/ledger";
import { put } from "./runs/put";
import { events, get, list } from "./runs/read";
import { StoreObject, type Verb } from "./store-object";

export class RunStore extends StoreObject {
  protected readonly verbs = new Map<string, Verb>([
    ["/runs/put", put],
    ["/runs/get", get],
    ["/runs/list", list],
    ["/runs/events", events],
    ["/runs/claim", claim],
    ["/runs/heartbeat", heartbeat],
    ["/runs/append", append],
  ]);

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, [
      ["0001_runs", runsSql],
      ["0002_ledger", ledgerSql],
      ["0003_totals", totalsSql],
      ["0004_plain", plainSql],
    ]);
  }
}
