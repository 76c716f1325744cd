// Which records the store takes (supplement sections 5.3 and 8.1).

import { badField } from "../answer";
import {
  isFiniteNumber,
  isObject,
  isRunId,
  isWhole,
  type Json,
  type JsonObject,
  RUN_ID_RULE,
} from "../json";

interface Rule {
  holds: (value: Json | undefined) => boolean;
  text: string;
}

const oneOf = (words: string[]) => (value: Json | undefined) => typeof value === "string" && words.includes(value);

const TEXT: Rule = { holds: (value) => typeof value === "string", text: "must be a string" };
const NUMBER: Rule = { holds: isFiniteNumber, text: "must be a finite number" };
const FLAG: Rule = { holds: (value) => typeof value === "boolean", text: "must be a boolean" };
const COUNT: Rule = { holds: (value) => isWhole(value) && value >= 0, text: "must be an integer of at least 0" };
const ID: Rule = { holds: isRunId, text: RUN_ID_RULE };
const STATUS: Rule = {
  holds: oneOf(["completed", "stopped_soft", "stopped_hard", "failed", "interrupted"]),
  text: "must be completed, stopped_soft, stopped_hard, failed or interrupted",
};
const VISIBILITY: Rule = {
  holds: oneOf(["public", "private", "dm", "machine", "unknown"]),
  text: "must be public, private, dm, machine or unknown when present",
};

const REQUIRED: [string, Rule][] = [
  ["id", ID],
  ["channelId", TEXT],
  ["userId", TEXT],
  ["threadKey", TEXT],
  ["startedAt", NUMBER],
  ["finishedAt", NUMBER],
  ["eventCount", NUMBER],
  ["storedEventCount", NUMBER],
  ["status", STATUS],
  ["truncated", FLAG],
];

const OPTIONAL: [string, Rule][] = [
  ["label", TEXT],
  ["agent", TEXT],
  ["model", TEXT],
  ["repo", TEXT],
  ["activity", TEXT],
  ["sourceUrl", TEXT],
  ["userName", TEXT],
  ["channelVisibility", VISIBILITY],
  ["receivedAt", NUMBER],
  ["sealedAt", NUMBER],
  ["replyOk", FLAG],
  ["stepCount", COUNT],
  ["schema", COUNT],
];

/** A record without its events, as far as it is checked; unknown fields ride along. */
export interface Listed extends JsonObject {
  id: string;
  channelId: string;
  userId: string;
  finishedAt: number;
  eventCount: number;
}

export interface Accepted extends Listed {
  events: JsonObject[];
}

/** Refuses a record that readers could not digest, naming the first field at fault. */
export function accept(record: Json | undefined): Accepted {
  if (!isObject(record)) throw badField("record", "must be an object");
  for (const [name, rule] of REQUIRED) {
    if (!rule.holds(record[name])) throw badField(`record.${name}`, rule.text);
  }
  for (const [name, rule] of OPTIONAL) {
    if (record[name] !== undefined && !rule.holds(record[name])) throw badField(`record.${name}`, rule.text);
  }
  checkEvents(record.events);
  checkDiagnosis(record.diagnosis);
  return record as Accepted;
}

function checkEvents(events: Json | undefined): void {
  if (!Array.isArray(events)) throw badField("record.events", "must be an array");
  const bad = events.findIndex((event) => !isObject(event) || typeof event.type !== "string");
  if (bad >= 0) throw badField(`record.events[${bad}]`, "must be an object with a string type");
}

const SHAPE_TERMS = [
  "windowMs",
  "gettingReadyMs",
  "thinkingMs",
  "toolsMs",
  "finishingUpMs",
  "overheadMs",
  "notRecordedMs",
  "notLoadedMs",
];

function checkDiagnosis(diagnosis: Json | undefined): void {
  const refuse = (part: string, rule: string) => badField(`record.diagnosis${part}`, rule);
  if (!isObject(diagnosis)) throw refuse("", "must be an object");
  if (!Array.isArray(diagnosis.findings)) throw refuse(".findings", "must be an array");
  if (!isFiniteNumber(diagnosis.eventCount)) throw refuse(".eventCount", "must be a number");
  if (typeof diagnosis.verdict !== "string") throw refuse(".verdict", "must be a string");
  if (diagnosis.runMs !== undefined && !isFiniteNumber(diagnosis.runMs)) {
    throw refuse(".runMs", "must be a number when present");
  }
  const { byCategory, shape } = diagnosis;
  const isTotal = (total: Json | undefined) =>
    isObject(total) && isFiniteNumber(total.count) && isFiniteNumber(total.durationMs);
  if (!isObject(byCategory) || !Object.values(byCategory).every(isTotal)) {
    throw refuse(".byCategory", "must be an object of totals with a numeric count and durationMs");
  }
  if (shape !== undefined && !(isObject(shape) && SHAPE_TERMS.every((term) => isFiniteNumber(shape[term])))) {
    throw refuse(".shape", "must be an object with its eight numeric terms when present");
  }
}
