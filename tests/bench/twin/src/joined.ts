// An answer that is one list of stored JSON texts, put together inside SQLite; row by row only near the platform's limit
// of one value.

const MAX_JOINED = 1_900_000;

export interface Joined {
  /** The answer's one key. */
  name: string;
  /** A statement that yields the column `text`, and what `order` speaks of. */
  rows: string;
  order: string;
}

export function answerJoined(sql: SqlStorage, { name, rows, order }: Joined, params: SqlValue[]): string {
  const statement = `SELECT iif(coalesce(max(so_far), 0) > ${MAX_JOINED}, NULL, '{"${name}":[' ||
    coalesce(group_concat(iif(so_far > ${MAX_JOINED}, NULL, text), ',' ORDER BY ${order}), '') || ']}') AS answer
    FROM (SELECT *, sum(octet_length(text) + 1) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS so_far
    FROM (${rows}))`;
  const { answer } = sql.exec<{ answer: string | null }>(statement, ...params).one();
  if (answer !== null) return answer;
  const each = `SELECT text FROM (${rows}) WHERE text IS NOT NULL ORDER BY ${order}`;
  const texts = sql.exec<{ text: string }>(each, ...params).toArray();
  return `{"${name}":[${texts.map(({ text }) => text).join(",")}]}`;
}
