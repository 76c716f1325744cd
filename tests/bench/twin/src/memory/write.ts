// Takes in candidates: `{ ok, inserted, deduped, superseded, evicted }` (supplement section 2.5), in one transaction.

import { integer, type JsonObject } from "../json";
import { type Candidate, readCandidates } from "./candidate";

const DEFAULT_CAP = 500;
const MAX_CAP = 10_000;

const KNOWN = `SELECT (SELECT coalesce(max(n), -1) + 1 FROM memory_records) AS next,
  (SELECT count(*) FROM memory_records WHERE status = 'active') AS active,
  (SELECT json_group_array(json_array(wanted.key, n)) FROM json_each(?1) AS wanted
  CROSS JOIN memory_records ON normalized = wanted.value AND status = 'active') AS equal,
  (SELECT json_group_array(n) FROM memory_records
  WHERE n IN (SELECT value FROM json_each(?2)) AND status = 'active') AS named`;

const RESTATE = `UPDATE memory_records
  SET use_count = use_count + (SELECT count(*) FROM json_each(?1) WHERE value = n)
  WHERE n IN (SELECT value FROM json_each(?1))`;

const REPLACE = `UPDATE memory_records SET status = 'superseded', normalized = NULL, tokens = NULL
  WHERE n IN (SELECT value FROM json_each(?1))`;

const INSERT = `INSERT INTO memory_records (n, status, created_at, use_count, record, normalized, tokens)
  SELECT value ->> 'n', iif(value ->> 'tokens' IS NULL, 'superseded', 'active'), ?2, value ->> 'useCount',
  value -> 'record', value ->> 'normalized', value ->> 'tokens' FROM json_each(?1)`;

const EVICT = `UPDATE memory_records SET status = 'evicted', normalized = NULL, tokens = NULL WHERE n IN
  (SELECT n FROM memory_records WHERE status = 'active'
  ORDER BY coalesce(last_used_at, created_at), created_at, n LIMIT ?1)`;

/** What the store has that a batch may touch. All of it is active; lists as JSON. */
interface Known {
  next: number;
  active: number;
  /** Of the text in a place, a record that says the same. */
  equal: string;
  named: string;
}

interface Born {
  n: number;
  useCount: number;
  record: Candidate["record"];
  normalized: string | null;
  tokens: string | null;
}

export function write(storage: DurableObjectStorage, body: JsonObject, now: number): string {
  const candidates = readCandidates(body);
  const cap = integer(body, "cap", 1, MAX_CAP, "must be an integer from 1 to 10000 when present") ?? DEFAULT_CAP;
  const prefix = `mem:${String(body.scopeKey)}:`;
  const counts = storage.transactionSync(() => carryOut(storage.sql, candidates, prefix, cap, now));
  return JSON.stringify({ ok: true, ...counts });
}

function carryOut(sql: SqlStorage, candidates: Candidate[], prefix: string, cap: number, now: number) {
  const texts = [...new Set(candidates.map((candidate) => candidate.normalized))];
  const targets = candidates.map((candidate) => numberIn(prefix, candidate.record.supersedes));
  const numbers = targets.filter((target) => target !== undefined);
  const known = sql.exec<Known>(KNOWN, JSON.stringify(texts), JSON.stringify(numbers)).one();

  const plan = new Plan(texts, known);
  candidates.forEach((candidate, index) => plan.take(candidate, targets[index]));
  if (plan.restated.length > 0) sql.exec(RESTATE, JSON.stringify(plan.restated));
  if (plan.replaced.length > 0) sql.exec(REPLACE, JSON.stringify(plan.replaced));
  if (plan.born.length > 0) sql.exec(INSERT, JSON.stringify(plan.born), now);
  const { inserted, deduped, superseded } = plan;
  const evicted = Math.max(0, known.active + inserted - superseded - cap);
  if (evicted > 0) sql.exec(EVICT, evicted);
  return { inserted, deduped, superseded, evicted };
}

/** The number of an id of this scope; only the very text that the id was given as is one. */
function numberIn(prefix: string, id: string | undefined): number | undefined {
  if (!id?.startsWith(prefix)) return undefined;
  const digits = id.slice(prefix.length);
  return /^(0|[1-9][0-9]*)$/.test(digits) ? Number(digits) : undefined;
}

/** What a batch comes to. Later candidates see what earlier ones did. */
class Plan {
  readonly born: Born[] = [];
  readonly restated: number[] = [];
  readonly replaced: number[] = [];
  inserted = 0;
  deduped = 0;
  superseded = 0;
  readonly #first: number;
  /** Of each distinct text, the active records that say it. */
  readonly #equal = new Map<string, Set<number>>();
  /** Active records that were named, and new ones. */
  readonly #active: Set<number>;

  constructor(texts: string[], known: Known) {
    this.#first = known.next;
    this.#active = new Set(JSON.parse(known.named) as number[]);
    for (const text of texts) this.#equal.set(text, new Set());
    for (const [place, n] of JSON.parse(known.equal) as [number, number][]) this.#equal.get(texts[place]!)!.add(n);
  }

  take(candidate: Candidate, target: number | undefined): void {
    const sayIt = this.#equal.get(candidate.normalized)!;
    if (candidate.record.supersedes === undefined) {
      if (sayIt.size > 0) this.#restate(Math.min(...sayIt));
      else this.#insert(candidate, sayIt);
    } else if (target !== undefined && this.#active.has(target)) {
      if (sayIt.has(target)) {
        this.#restate(target);
      } else {
        this.#replace(target);
        this.#insert(candidate, sayIt);
      }
    } else {
      this.#insert(candidate, sayIt);
    }
  }

  #restate(n: number): void {
    this.deduped += 1;
    const born = this.born[n - this.#first];
    if (born) born.useCount += 1;
    else this.restated.push(n);
  }

  #replace(n: number): void {
    this.superseded += 1;
    this.#active.delete(n);
    for (const sayIt of this.#equal.values()) sayIt.delete(n);
    const born = this.born[n - this.#first];
    if (born) born.normalized = born.tokens = null;
    else this.replaced.push(n);
  }

  #insert({ record, normalized, tokens }: Candidate, sayIt: Set<number>): void {
    const n = this.#first + this.inserted;
    this.inserted += 1;
    this.#active.add(n);
    sayIt.add(n);
    this.born.push({ n, useCount: 0, record, normalized, tokens });
  }
}
