// How well a record answers a query (supplement section 2.4).

const MAX_CHOSEN = 24;
const KEYWORD_WEIGHT = 0.7;
const RECENCY_WEIGHT = 0.3;
/** In so long recency falls to 1/e: a week. */
const TAU_MS = 604_800_000;

/** The maximal runs of ASCII letters and digits, in lower case. */
export function tokens(text: string): string[] {
  return (text.match(/[A-Za-z0-9]+/g) ?? []).map((run) => run.toLowerCase());
}

export class Query {
  readonly #tokens: string[];
  readonly #distinct: Set<string>;

  constructor(text: string) {
    this.#tokens = tokens(text);
    this.#distinct = new Set(this.#tokens);
  }

  get isEmpty(): boolean {
    return this.#tokens.length === 0;
  }

  /** The expression of the full-text index that finds any of the distinct tokens, of many the longest. */
  get match(): string {
    const distinct = [...this.#distinct];
    const chosen =
      distinct.length > MAX_CHOSEN
        ? distinct.sort((a, b) => b.length - a.length).slice(0, MAX_CHOSEN)
        : distinct;
    return chosen.map((token) => `"${token}"`).join(" OR ");
  }

  /** What a record with these tokens is worth that was last used then; undefined when it does not match. */
  score(joined: string, usedAt: number, now: number): number | undefined {
    const found = new Set(joined.split(" "));
    const hits = this.#tokens.filter((token) => found.has(token)).length;
    if (hits === 0) return undefined;
    const recency = Math.exp(-Math.max(0, now - usedAt) / TAU_MS);
    return KEYWORD_WEIGHT * (hits / this.#tokens.length) + RECENCY_WEIGHT * recency;
  }
}
