// Writes a record: `{ ok, retained, stored, rewritten }` (supplement section 5.4), all in one transaction.

import { badField } from "../answer";
import { type Json, type JsonObject, utf8Length } from "../json";
import { isLive } from "../ledger/fence";
import { accept, type Listed } from "./accept";
import { inBatches, type KeyedEvent, seqOf, writeBatches } from "./event-batch";
import { plainness } from "./item";
import { type Proposal, propose, readProposal } from "./policy";
import { trimAfterPut } from "./trim";

/** How far ahead of the store's clock a run may claim to have finished. */
const MAX_AHEAD_MS = 24 * 60 * 60 * 1000;
/** Bytes of one stored text; what the edge platform takes in one row, less the row's other columns. */
const MAX_TEXT = 2_100_000;

interface Put {
  record: Listed;
  /** The JSON text of `record`. */
  text: string;
  events: KeyedEvent[];
  /** Size of the whole record's JSON. */
  bytes: number;
  proposal: Proposal | undefined;
}

export function put(storage: DurableObjectStorage, body: JsonObject, now: number): string {
  const put = read(body, now);
  const result = storage.transactionSync(() => write(storage.sql, put, now));
  return JSON.stringify({ ok: true, ...result });
}

function read(body: JsonObject, now: number): Put {
  const { events, ...record } = accept(body.record);
  const proposal = readProposal(body);
  for (const name of ["finishedAt", "receivedAt", "sealedAt"]) {
    const time = record[name];
    if (typeof time === "number" && time > now + MAX_AHEAD_MS) record[name] = now + MAX_AHEAD_MS;
  }
  const text = JSON.stringify(record);
  const textBytes = utf8Length(text);
  if (textBytes > MAX_TEXT) throw badField("record", "must take at most 2100000 bytes without its events");
  const keyed = keyEvents(events);
  const tooLarge = keyed.findIndex((event) => event.bytes > MAX_TEXT);
  if (tooLarge >= 0) throw badField(`record.events[${tooLarge}]`, "must take at most 2100000 bytes");
  const eventBytes = keyed.reduce((sum, event) => sum + event.bytes, 0);
  const bytes = textBytes + ',"events":[]'.length + Math.max(0, keyed.length - 1) + eventBytes;
  return { record, text, events: keyed, bytes, proposal };
}

/** Gives every event its key: its own seq when all are positive integers and rise, else its position from 1. */
function keyEvents(events: JsonObject[]): KeyedEvent[] {
  const seqs = events.map(seqOf);
  const own = seqs.every((seq, index) => seq !== undefined && (index === 0 || seq > seqs[index - 1]!));
  return events.map((event, index) => {
    const seq = own ? seqs[index]! : index + 1;
    const text = JSON.stringify(own ? event : { ...event, seq });
    return { seq, text, bytes: utf8Length(text) };
  });
}

interface Version {
  event_count: number;
  finished_at: number;
  bytes: number;
}

function write(sql: SqlStorage, put: Put, now: number) {
  const { record, events } = put;
  const [earlier] = sql
    .exec<Version>("SELECT event_count, finished_at, bytes FROM runs WHERE id = ?", record.id)
    .toArray();
  writeRow(sql, put, now);
  const isOther =
    earlier === undefined ||
    earlier.event_count !== record.eventCount ||
    earlier.finished_at !== record.finishedAt ||
    earlier.bytes !== put.bytes;
  if (isOther) {
    // The events of a live run are the ledger's: some were acknowledged after this record was made.
    if (!isLive(sql, record.id)) sql.exec("DELETE FROM run_events WHERE run_id = ?", record.id);
    writeBatches(sql, record.id, inBatches(events));
  }
  const { retained, survived } = trimAfterPut(sql, record.id, now);
  return { retained, stored: survived, rewritten: earlier !== undefined && isOther };
}

function writeRow(sql: SqlStorage, { record, text, bytes, proposal }: Put, now: number): void {
  if (proposal) propose(sql, proposal, now);
  const textOf = (value: Json | undefined) => (typeof value === "string" ? value : "");
  sql.exec(
    `REPLACE INTO runs (id, finished_at, event_count, bytes, agent, channel_id, user_id, repo, visibility,
     stored_at, record, plain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    record.id,
    record.finishedAt,
    record.eventCount,
    bytes,
    textOf(record.agent),
    record.channelId,
    record.userId,
    textOf(record.repo),
    textOf(record.channelVisibility) || "unknown",
    now,
    text,
    plainness(record),
  );
}
