// A stored record as readers see it (supplement sections 5.5 and 8.1).

import { isObject, type JsonObject } from "../json";

const CATEGORIES = [
  "slow_tool",
  "slow_model_turn",
  "failed_tool",
  "retry",
  "setup_install",
  "wrap_up",
  "budget_hit",
  "infra_failure",
];

const term = (category: string, term: string) =>
  `json(coalesce(record -> '$.diagnosis.byCategory.${category}.${term}', '0'))`;
const totals = CATEGORIES.map(
  (category) =>
    `'${category}', json_object('count', ${term(category, "count")}, 'durationMs', ${term(category, "durationMs")})`,
);

/** In the column `plain`: stored just as readers see it, by the categories of today. */
const PLAIN = 1;

/** SQL of what readers see of `record`: a visibility always, and exactly the current categories. */
export const ITEM = `iif(plain = ${PLAIN}, record, json_set(json_insert(record, '$.channelVisibility', visibility),
  '$.diagnosis.byCategory', json_object(${totals.join(", ")})))`;

/** The same with the size of the record, as lists have it. */
export const LISTED = `iif(plain = ${PLAIN}, substr(record, 1, length(record) - 1) || ',"bytes":' || bytes || '}',
  json_set(${ITEM}, '$.bytes', bytes))`;

/** What goes into `plain`. A plain record is an object with members, so its last character is its closing brace. */
export function plainness(record: JsonObject): number {
  const { channelVisibility, bytes, diagnosis } = record;
  const byCategory = isObject(diagnosis) ? diagnosis.byCategory : undefined;
  const isPlain =
    channelVisibility !== undefined &&
    bytes === undefined &&
    isObject(byCategory) &&
    Object.keys(byCategory).length === CATEGORIES.length &&
    CATEGORIES.every((category) => {
      const total = byCategory[category];
      // An accepted total has these two already.
      return isObject(total) && Object.keys(total).length === 2;
    });
  return isPlain ? PLAIN : 0;
}
