// Appends events to a live run (supplement sections 9.3 and 9.4). An event replaces what has its seq.

import { badField } from "../answer";
import { type Json, type JsonObject, utf8Length } from "../json";
import { inBatches, type KeyedEvent, seqOf, writeBatches } from "../runs/event-batch";
import { OK, owned, readOwnerWrite } from "./fence";

/** Bytes of one event's JSON (section 9.1). */
const MAX_EVENT = 65_536;

export function append(storage: DurableObjectStorage, body: JsonObject): string {
  const write = readOwnerWrite(body);
  if (!Array.isArray(body.events)) throw badField("events", "must be an array");
  const events = body.events.map(readEvent);
  const batches = inBatches(events);
  const append = () => {
    owned(storage.sql, write, "SELECT 1 FROM live_runs WHERE run_id = ? AND owner_gen = ?");
    writeBatches(storage.sql, write.run, batches);
  };
  // Nothing comes between the check and one statement; only more than one need a transaction.
  if (batches.length > 1) storage.transactionSync(append);
  else append();
  return OK;
}

function readEvent(event: Json, index: number): KeyedEvent {
  const seq = seqOf(event);
  if (seq === undefined) throw badField(`events[${index}].seq`, "must be an integer of at least 1");
  const text = JSON.stringify(event);
  const bytes = utf8Length(text);
  if (bytes > MAX_EVENT) throw badField(`events[${index}]`, "must take at most 65536 bytes");
  return { seq, text, bytes };
}
