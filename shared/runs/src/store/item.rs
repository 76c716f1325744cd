//! SQL of a stored record in its visible form.

use crate::{canonical::CANONICAL, diagnosis::CATEGORIES};

/// Returns the SQL of an item with the size of its record, for lists.
/// A canonical record is a non-empty object, so its last character is the closing brace.
pub(super) fn listed_sql(item: &str) -> String {
    format!(
        "iif(plain = {CANONICAL}, substr(record, 1, length(record) - 1) || ',\"bytes\":' || bytes || '}}', \
         json_set({item}, '$.bytes', bytes))"
    )
}

/// Returns the SQL of a listed item without its diagnosis. Only a row without `brief` is parsed.
pub(super) fn brief_sql(listed: &str) -> String {
    format!("coalesce(brief, json_remove({listed}, '$.diagnosis'))")
}

/// Returns the SQL of a stored record in its visible form.
/// It always has a visibility and exactly the current categories. Records are stored as received, so a new category
/// needs no rewriting of rows. A canonical record is not parsed.
pub(super) fn item_sql() -> String {
    let term = |category: &str, term: &str| {
        format!("json(coalesce(record -> '$.diagnosis.byCategory.{category}.{term}', '0'))")
    };
    let total = |category: &&str| {
        let count = term(category, "count");
        let duration = term(category, "durationMs");
        format!("'{category}', json_object('count', {count}, 'durationMs', {duration})")
    };
    let totals = CATEGORIES.iter().map(total).collect::<Vec<_>>().join(", ");
    format!(
        "iif(plain = {CANONICAL}, record, json_set(json_insert(record, '$.channelVisibility', visibility), '$.diagnosis.byCategory', json_object({totals})))"
    )
}
