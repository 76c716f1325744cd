// Records that match a query, best first: `{ records }` (supplement section 2.4). What is answered counts as used.

import { badField } from "../answer";
import { integer, type JsonObject, shortText } from "../json";
import { answerJoined } from "../joined";
import { Query } from "./query";

const MAX_LIMIT = 50;
const MAX_QUERY_CHARS = 4000;
const MIN_CANDIDATES = 50;
const CANDIDATES_PER_RECORD = 5;

const CANDIDATES = `SELECT n, coalesce(last_used_at, created_at) AS used_at, memory_records.tokens AS tokens FROM
  (SELECT rowid AS n, bm25(memory_index) AS score FROM memory_index WHERE memory_index MATCH ?1
  ORDER BY score, rowid LIMIT ?2) AS ranked CROSS JOIN memory_records USING (n) ORDER BY ranked.score, n`;

const BUMP = `UPDATE memory_records SET last_used_at = ?1, use_count = use_count + 1
  WHERE n IN (SELECT value FROM json_each(?2))`;

const CHOSEN = {
  name: "records",
  rows: `SELECT chosen.key AS place,
    '{"id":' || json_quote(?1 || n) || ',"scopeKey":' || json_quote(?2) || ',"createdAt":' || created_at
    || ifnull(',"lastUsedAt":' || last_used_at, '') || ',"useCount":' || use_count
    || ',"status":"active",' || substr(record, 2) AS text
    FROM json_each(?3) AS chosen CROSS JOIN memory_records ON n = chosen.value`,
  order: "place",
};

interface Candidate {
  n: number;
  used_at: number;
  tokens: string;
}

export function retrieve(sql: SqlStorage, body: JsonObject, now: number): string {
  const scopeKey = String(body.scopeKey);
  const text = shortText(body, "query", MAX_QUERY_CHARS);
  if (text === undefined) throw badField("query", "must be a string of at most 4000 characters");
  const rule = "must be an integer from 1 to 50";
  const limit = integer(body, "limit", 1, MAX_LIMIT, rule);
  if (limit === undefined) throw badField("limit", rule);

  const best = findBest(sql, new Query(text), limit, now);
  if (best.length === 0) return '{"records":[]}';
  const list = JSON.stringify(best);
  sql.exec(BUMP, now, list);
  return answerJoined(sql, CHOSEN, [`mem:${scopeKey}:`, scopeKey, list]);
}

/** The numbers of the best records, best first; of equal scores the better rank stays first. */
function findBest(sql: SqlStorage, query: Query, limit: number, now: number): number[] {
  if (query.isEmpty) return [];
  const cap = Math.max(MIN_CANDIDATES, CANDIDATES_PER_RECORD * limit);
  return sql
    .exec<Candidate>(CANDIDATES, query.match, cap)
    .toArray()
    .flatMap(({ n, used_at, tokens }) => {
      const score = query.score(tokens, used_at, now);
      return score === undefined ? [] : { n, score };
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ n }) => n);
}
