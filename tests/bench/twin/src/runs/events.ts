// Events on their way into the table that finished and live runs share.

import { badField } from "../answer";
import { type Json, utf8Length } from "../json";

export interface KeyedEvent {
  seq: number;
  text: string;
  bytes: number;
}

/** Serializes an event, and rejects one of too many bytes. */
export function keyed(seq: number, event: Json, maxBytes: number): KeyedEvent {
  const text = JSON.stringify(event);
  const bytes = utf8Length(text);
  if (bytes > maxBytes) throw badField("events", `must take at most ${maxBytes} bytes each`);
  return { seq, text, bytes };
}

/** Bytes of events passed to SQLite in one parameter. */
const MAX_BATCH_BYTES = 1_000_000;

/** Writes events over those of the same seqs, in as few statements as the platform's limit of a value allows. */
export function writeEvents(sql: SqlStorage, run: string, events: KeyedEvent[]): void {
  let batch: string[] = [];
  let bytes = 0;
  const flush = () => {
    if (batch.length === 0) return;
    sql.exec(
      `INSERT OR REPLACE INTO run_events (run_id, seq, event)
       SELECT ?1, CAST(key AS INTEGER), value FROM json_each(?2)`,
      run,
      `{${batch.join(",")}}`,
    );
    batch = [];
    bytes = 0;
  };
  for (const event of events) {
    if (bytes + event.bytes > MAX_BATCH_BYTES) flush();
    batch.push(`"${event.seq}":${event.text}`);
    bytes += event.bytes;
  }
  flush();
}
