//! SQL for a stored record in visible form.

use crate::{canonical::CANONICAL, diagnosis::CATEGORIES};

/// Returns the SQL for an item with the record's size, for lists. A canonical record is a non-empty
/// object, so the last character is the closing brace.
pub(super) fn listed_sql(item: &str) -> String {
    format!(
        "iif(plain = {CANONICAL}, substr(record, 1, length(record) - 1) || ',\"bytes\":' || bytes || '}}', \
         json_set({item}, '$.bytes', bytes))"
    )
}

/// Returns the SQL for a listed item without its diagnosis. Only a row without `brief` is parsed.
pub(super) fn brief_sql(listed: &str) -> String {
    format!("coalesce(brief, json_remove({listed}, '$.diagnosis'))")
}

/// Returns the SQL for a stored record in visible form. It always has a visibility and exactly the
/// current categories. Records are stored as received, so a new category needs no row rewrites. A
/// canonical record is not parsed.
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
