// Extends the owner's lease and tells of a stop: `{ ok, stop, phase }` (supplement section 9.3).

import type { JsonObject } from "../json";
import { owned, readLeaseMs, readOwnerWrite } from "./fence";

export function heartbeat(sql: SqlStorage, body: JsonObject, now: number): string {
  const write = readOwnerWrite(body);
  const until = now + readLeaseMs(body);
  const row = owned<{ answer: string }>(
    sql,
    write,
    `UPDATE live_runs SET lease_until = ?3 WHERE run_id = ?1 AND owner_gen = ?2
     RETURNING json_object('ok', json('true'), 'stop', stop, 'phase', phase) AS answer`,
    until,
  );
  return row.answer;
}
