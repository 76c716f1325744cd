//! Request body fields, each with a separate refusal.
//!
//! Null does not count as absent.

use ars_types::RunId;
use serde_json::{Map, Value};

use crate::{
    Refusal,
    json::{number, whole},
};

/// Reads an optional run id.
pub fn run_id(body: &Map<String, Value>, name: &str) -> Result<Option<RunId>, Refusal> {
    let parse = |value: &Value| value.as_str().and_then(|id| RunId::parse(id).ok());
    optional(
        body,
        name,
        parse,
        "must be 1 to 64 letters, digits, `_` or `-`",
    )
}

/// Reads a required run id.
pub fn required_run_id(body: &Map<String, Value>, name: &str) -> Result<RunId, Refusal> {
    let missing = || Refusal::field(name, "must be 1 to 64 letters, digits, `_` or `-`");
    run_id(body, name)?.ok_or_else(missing)
}

/// Reads an optional number.
pub fn finite(body: &Map<String, Value>, name: &str) -> Result<Option<f64>, Refusal> {
    optional(body, name, number, "must be a finite number")
}

/// Reads an optional text with at most `max_chars` characters.
pub fn short_text(
    body: &Map<String, Value>,
    name: &str,
    max_chars: usize,
) -> Result<Option<String>, Refusal> {
    let parse = |value: &Value| {
        is_short(value, max_chars)
            .then(|| value.as_str().map(str::to_owned))
            .flatten()
    };
    optional(
        body,
        name,
        parse,
        &format!("must be a string of at most {max_chars} characters"),
    )
}

/// Returns whether a value is a text with at most `max_chars` characters.
pub fn is_short(value: &Value, max_chars: usize) -> bool {
    // A text has at most as many characters as bytes.
    value
        .as_str()
        .is_some_and(|text| text.len() <= max_chars || text.chars().count() <= max_chars)
}

/// Reads an optional integer within `allowed`. `rule` describes the range.
pub fn integer(
    body: &Map<String, Value>,
    name: &str,
    allowed: std::ops::RangeInclusive<i64>,
    rule: &str,
) -> Result<Option<i64>, Refusal> {
    optional(
        body,
        name,
        |value| whole(value).filter(|number| allowed.contains(number)),
        rule,
    )
}

/// Reads an optional field with `parse`. Null does not count as absent.
pub fn optional<T>(
    body: &Map<String, Value>,
    name: &str,
    parse: impl Fn(&Value) -> Option<T>,
    rule: &str,
) -> Result<Option<T>, Refusal> {
    match body.get(name) {
        None => Ok(None),
        Some(value) => parse(value)
            .map(Some)
            .ok_or_else(|| Refusal::field(name, rule)),
    }
}
