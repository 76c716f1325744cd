// A candidate as a request brings it, checked (supplement section 2.2).

import { badField } from "../answer";
import { isFiniteNumber, isObject, isShort, type Json, type JsonObject } from "../json";
import { tokens } from "./query";

const MAX_CANDIDATES = 50;
const MAX_TEXT_CHARS = 4000;
const MAX_NAME_CHARS = 200;
const MAX_KEYWORDS = 20;
const MAX_KEYWORD_CHARS = 64;

/** What never changes of a record, in the order in which it travels. */
interface Kept {
  kind: string;
  text: string;
  keywords: string[];
  sourceThreadKey: string;
  sourceRunId: string | undefined;
  confidence: number | undefined;
  supersedes: string | undefined;
}

export interface Candidate {
  record: Kept;
  /** What it says, for telling equal texts. */
  normalized: string;
  /** What queries find it by. */
  tokens: string;
}

/** The candidates of a body. One that breaks a rule refuses them all. */
export function readCandidates(body: JsonObject): Candidate[] {
  const { records } = body;
  if (!Array.isArray(records) || records.length > MAX_CANDIDATES) {
    throw badField("records", "must be an array of at most 50 candidates");
  }
  return records.map(readCandidate);
}

/** When two texts say the same: no margins, lower case, each run of white space one space. */
export function normalize(text: string): string {
  return text.toLowerCase().trim().replace(/\s+/g, " ");
}

function readCandidate(entry: Json, index: number): Candidate {
  if (!isObject(entry)) throw badField(`records[${index}]`, "must be an object");
  const refuse = (name: string, rule: string) => badField(`records[${index}].${name}`, rule);
  const name = (field: string): string | undefined => {
    const value = entry[field];
    if (value === undefined || isShort(value, MAX_NAME_CHARS)) return value;
    throw refuse(field, "must be a string of at most 200 characters when present");
  };

  const { kind, text, sourceThreadKey, confidence } = entry;
  if (kind !== "fact" && kind !== "summary") throw refuse("kind", "must be fact or summary");
  const normalized = typeof text === "string" ? normalize(text) : "";
  if (!isShort(text, MAX_TEXT_CHARS) || normalized === "") {
    throw refuse("text", "must be a string of at most 4000 characters, not blank");
  }
  if (!isShort(sourceThreadKey, MAX_NAME_CHARS) || sourceThreadKey === "") {
    throw refuse("sourceThreadKey", "must be a string of 1 to 200 characters");
  }
  const keywords = readKeywords(entry.keywords);
  if (!keywords) {
    throw refuse("keywords", "must be an array of at most 20 strings of 1 to 64 characters when present");
  }
  const sourceRunId = name("sourceRunId");
  if (confidence !== undefined && !(isFiniteNumber(confidence) && confidence >= 0 && confidence <= 1)) {
    throw refuse("confidence", "must be a number from 0 to 1 when present");
  }
  const supersedes = name("supersedes") || undefined;

  const record = {
    kind,
    text,
    keywords: keywords.length > 0 ? keywords : tokens(text),
    sourceThreadKey,
    sourceRunId,
    confidence,
    supersedes,
  };
  return { record, normalized, tokens: [text, ...record.keywords].flatMap(tokens).join(" ") };
}

function readKeywords(given: Json | undefined): string[] | undefined {
  if (given === undefined) return [];
  if (!Array.isArray(given) || given.length > MAX_KEYWORDS) return undefined;
  const isKeyword = (value: Json): value is string => isShort(value, MAX_KEYWORD_CHARS) && value !== "";
  return given.every(isKeyword) ? given : undefined;
}
