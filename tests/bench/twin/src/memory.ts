// The memory of one scope: `/retrieve` as the Rust Worker answers it. `/write` only fills the store: it neither
// deduplicates nor evicts.

import recordsSql from "../../../../migrations/memory-scope/0001_records.sql";
import { badField } from "./answer";
import type { Env } from "./gate";
import { integer, isObject, type JsonObject, text } from "./json";
import { StoreObject, type Verb } from "./store-object";

const MAX_TOKENS = 24;
const KEYWORD_WEIGHT = 0.7;
const RECENCY_WEIGHT = 0.3;
/** The time in which recency falls to 1/e: a week. */
const TAU_MS = 604_800_000;
const MIN_CANDIDATES = 50;
const CANDIDATES_PER_RECORD = 5;

const CANDIDATES = `SELECT n, coalesce(last_used_at, created_at) AS used_at, memory_records.tokens AS tokens FROM
  (SELECT rowid AS n, bm25(memory_index) AS score FROM memory_index WHERE memory_index MATCH ?1
  ORDER BY score, rowid LIMIT ?2) AS ranked CROSS JOIN memory_records USING (n) ORDER BY ranked.score, n`;
const BUMP = `UPDATE memory_records SET last_used_at = ?1, use_count = use_count + 1
  WHERE n IN (SELECT value FROM json_each(?2))`;
const CHOSEN = `SELECT '{"records":[' || group_concat(text, ',' ORDER BY place) || ']}' AS answer FROM
  (SELECT chosen.key AS place,
    '{"id":' || json_quote(?1 || n) || ',"scopeKey":' || json_quote(?2) || ',"createdAt":' || created_at
    || ifnull(',"lastUsedAt":' || last_used_at, '') || ',"useCount":' || use_count
    || ',"status":"active",' || substr(record, 2) AS text
    FROM json_each(?3) AS chosen CROSS JOIN memory_records ON n = chosen.value)`;
const INSERT = `INSERT INTO memory_records (n, status, created_at, use_count, record, normalized, tokens)
  SELECT (SELECT coalesce(max(n), -1) + 1 FROM memory_records) + key, 'active', ?2, 0,
  value -> 'record', value ->> 'normalized', value ->> 'tokens' FROM json_each(?1)`;

export class MemoryScope extends StoreObject {
  protected readonly verbs = new Map<string, Verb>([
    ["/retrieve", retrieve],
    ["/write", write],
  ]);

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, [["0001_records", recordsSql]]);
  }
}

interface Candidate {
  n: number;
  used_at: number;
  tokens: string;
}

function retrieve({ sql }: DurableObjectStorage, body: JsonObject, now: number): string {
  const query = tokens(text(body, "query", /^[^]{0,4000}$/));
  const limit = integer(body, "limit", 1, 50);
  if (query.length === 0) return '{"records":[]}';
  const distinct = [...new Set(query)].sort((a, b) => b.length - a.length).slice(0, MAX_TOKENS);
  const match = distinct.map((token) => `"${token}"`).join(" OR ");
  const best = sql
    .exec<Candidate>(CANDIDATES, match, Math.max(MIN_CANDIDATES, CANDIDATES_PER_RECORD * limit))
    .toArray()
    .flatMap(({ n, used_at, tokens }) => {
      const found = new Set(tokens.split(" "));
      const hits = query.filter((token) => found.has(token)).length;
      if (hits === 0) return [];
      const recency = Math.exp(-Math.max(0, now - used_at) / TAU_MS);
      return { n, score: KEYWORD_WEIGHT * (hits / query.length) + RECENCY_WEIGHT * recency };
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ n }) => n);
  if (best.length === 0) return '{"records":[]}';
  const list = JSON.stringify(best);
  const scope = String(body.scopeKey);
  sql.exec(BUMP, now, list);
  return sql.exec<{ answer: string }>(CHOSEN, `mem:${scope}:`, scope, list).one().answer;
}

function write(storage: DurableObjectStorage, { records }: JsonObject, now: number): string {
  if (!Array.isArray(records) || !records.every(isObject)) throw badField("records", "must be an array of candidates");
  const rows = records.map((record) => {
    const { kind, text, keywords, sourceThreadKey, sourceRunId, confidence } = record;
    const normalized = String(text).toLowerCase().trim().replace(/\s+/g, " ");
    const joined = [String(text), ...(keywords as string[])].flatMap(tokens).join(" ");
    return { record: { kind, text, keywords, sourceThreadKey, sourceRunId, confidence }, normalized, tokens: joined };
  });
  storage.transactionSync(() => storage.sql.exec(INSERT, JSON.stringify(rows), now));
  return JSON.stringify({ ok: true, inserted: rows.length, deduped: 0, superseded: 0, evicted: 0 });
}

/** Returns the maximal runs of ASCII letters and digits, in lower case. */
function tokens(text: string): string[] {
  return (text.match(/[A-Za-z0-9]+/g) ?? []).map((run) => run.toLowerCase());
}
