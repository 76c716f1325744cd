// Events on their way into the table that finished and live runs share: in as few JSON texts as fit, each an object
// from seq to event that SQLite takes apart.

import { isObject, isWhole, type Json } from "../json";

/** Bytes of events handed to SQLite in one parameter; a larger event goes alone. */
const MAX_BATCH = 1_000_000;

export interface KeyedEvent {
  seq: number;
  text: string;
  /** Bytes of the text in UTF-8. */
  bytes: number;
}

/** Writes events over those of the same seqs. */
export function writeBatches(sql: SqlStorage, run: string, batches: KeyedEvent[][]): void {
  for (const batch of batches) {
    sql.exec(
      `INSERT OR REPLACE INTO run_events (run_id, seq, event)
       SELECT ?1, CAST(key AS INTEGER), value FROM json_each(?2)`,
      run,
      `{${batch.map((event) => `"${event.seq}":${event.text}`).join(",")}}`,
    );
  }
}

export function inBatches(events: KeyedEvent[]): KeyedEvent[][] {
  const batches: KeyedEvent[][] = [];
  let open: KeyedEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    if (open.length > 0 && bytes + event.bytes > MAX_BATCH) {
      batches.push(open);
      open = [];
      bytes = 0;
    }
    open.push(event);
    bytes += event.bytes;
  }
  if (open.length > 0) batches.push(open);
  return batches;
}

/** The seq an event carries, if it can be a key. */
export function seqOf(event: Json): number | undefined {
  const seq = isObject(event) ? event.seq : undefined;
  return isWhole(seq) && seq >= 1 && seq <= Number.MAX_SAFE_INTEGER ? seq : undefined;
}
