// A stored record as readers see it (supplement sections 5.5 and 8.1).

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

/** SQL of what readers see of `record`: a visibility always, and exactly the current categories. */
export const ITEM = `json_set(json_insert(record, '$.channelVisibility', visibility),
  '$.diagnosis.byCategory', json_object(${totals.join(", ")}))`;
