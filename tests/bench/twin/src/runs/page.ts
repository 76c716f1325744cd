// One page of JSON texts as one answer, put together inside SQLite; row by row only near the platform's limit of one
// value.

/** Bytes of texts joined inside SQLite. */
export const MAX_JOINED = 1_900_000;

export interface Page {
  /** A statement that yields columns `place`, `id` and `text`, in order; a text that is NULL says nothing. */
  rows: string;
  order: string;
  /** SQL of what comes before and after the texts, over `count`, and `place` and `id` of the last row. */
  before: string;
  after: string;
}

export function answerPage(sql: SqlStorage, { rows, order, before, after }: Page, params: SqlValue[]): string {
  const statement = `SELECT iif(coalesce(so_far, 0) > ${MAX_JOINED}, NULL,
    ${before} || coalesce(joined, '') || ${after}) AS answer
    FROM (SELECT count(*) AS count, max(nth), place, id, so_far,
    group_concat(iif(so_far > ${MAX_JOINED}, NULL, text), ',' ORDER BY nth) AS joined FROM (
    SELECT place, id, text, row_number() OVER page AS nth,
    sum(coalesce(octet_length(text), 0)) OVER page AS so_far FROM (${rows})
    WINDOW page AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)))`;
  const { answer } = sql.exec<{ answer: string | null }>(statement, ...params).one();
  return answer ?? rowByRow(sql, { rows, order, before, after }, params);
}

interface Row {
  place: number;
  id: string;
  text: string | null;
}

function rowByRow(sql: SqlStorage, { rows, before, after }: Page, params: SqlValue[]): string {
  const found = sql.exec<Row>(rows, ...params).toArray();
  const last = found.at(-1);
  const next = params.length + 1;
  const frame = sql
    .exec<{ before: string; after: string }>(
      `SELECT ${before} AS before, ${after} AS after
       FROM (SELECT ?${next} AS count, ?${next + 1} AS place, ?${next + 2} AS id)`,
      ...params,
      found.length,
      last?.place ?? null,
      last?.id ?? null,
    )
    .one();
  return frame.before + joinTexts(found) + frame.after;
}

export function joinTexts(rows: { text: string | null }[]): string {
  return rows.flatMap((row) => row.text ?? []).join(",");
}
