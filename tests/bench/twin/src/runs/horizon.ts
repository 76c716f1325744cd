// The line between what readers see and what they do not (supplement section 7.1): one position, the newest that age,
// count or bytes exclude.

/** The newest hidden position; ?1 is the reader's clock. */
const HORIZON = `(SELECT max(oldest, floor_at), iif(oldest > floor_at, '', floor_id) FROM
  (SELECT floor_at, floor_id, ?1 - 86400000 * retention_days AS oldest FROM retention))`;

/** Conditions of a row, with the clock as ?1. */
export const VISIBLE = `(finished_at, id) > ${HORIZON}`;
export const HIDDEN = `(finished_at, id) <= ${HORIZON}`;

export function isVisible(sql: SqlStorage, id: string, now: number): boolean {
  return sql.exec(`SELECT 1 FROM runs WHERE id = ?2 AND ${VISIBLE}`, now, id).toArray().length > 0;
}
