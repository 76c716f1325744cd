//! SQL and text that several verbs use.

/// A row as a wire record; `?1` is the id prefix, `?2` the scope key. `record` is an object that is
/// never empty. The mutable fields are put before its own.
macro_rules! travelling {
    () => {
        "'{\"id\":' || json_quote(?1 || n) || ',\"scopeKey\":' || json_quote(?2) || ',\"createdAt\":' || created_at \
         || ifnull(',\"lastUsedAt\":' || last_used_at, '') || ',\"useCount\":' || use_count \
         || ',\"status\":\"active\",' || substr(record, 2) AS text"
    };
}
pub(super) use travelling;

/// A response without records.
pub(super) const NO_RECORDS: &str = r#"{"records":[]}"#;

/// Returns the full-text expression that matches any of these tokens. They are ASCII letters and
/// digits, so a quoted token contains no syntax.
pub(super) fn any_of(tokens: &[&str]) -> String {
    tokens
        .iter()
        .map(|token| format!("\"{token}\""))
        .collect::<Vec<_>>()
        .join(" OR ")
}
