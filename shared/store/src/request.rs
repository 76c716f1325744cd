//! Fields of request bodies, each with its own refusal (state-worker supplement section 1.3).
//!
//! A field that is null is not absent.

use ars_types::RunId;
use serde_json::{Map, Value};

use crate::{
    Refusal,
    json::{number, whole},
};

/// A run id.
pub fn run_id(body: &Map<String, Value>, name: &str) -> Result<Option<RunId>, Refusal> {
    let parse = |value: &Value| value.as_str().and_then(|id| RunId::parse(id).ok());
    optional(body, name, parse, "must be 1 to 64 letters, digits, `_` or `-`")
}

/// A run id that must be there.
pub fn required_run_id(body: &Map<String, Value>, name: &str) -> Result<RunId, Refusal> {
    let missing = || Refusal::field(name, "must be 1 to 64 letters, digits, `_` or `-`");
    run_id(body, name)?.ok_or_else(missing)
}

/// A number.
pub fn finite(body: &Map<String, Value>, name: &str) -> Result<Option<f64>, Refusal> {
    optional(body, name, number, "must be a finite number")
}

/// A text of at most so many characters, maybe none.
pub fn short_text(
    body: &Map<String, Value>,
    name: &str,
    max_chars: usize,
) -> Result<Option<String>, Refusal> {
    let parse =
        |value: &Value| is_short(value, max_chars).then(|| value.as_str().map(str::to_owned)).flatten();
    optional(body, name, parse, &format!("must be a string of at most {max_chars} characters"))
}

/// Whether a value is a text of at most so many characters.
pub fn is_short(value: &Value, max_chars: usize) -> bool {
    // A text has at most as many characters as bytes.
    value.as_str().is_some_and(|text| text.len() <= max_chars || text.chars().count() <= max_chars)
}

/// An integer within `allowed`; `rule` says so in words.
pub fn integer(
    body: &Map<String, Value>,
    name: &str,
    allowed: std::ops::RangeInclusive<i64>,
    rule: &str,
) -> Result<Option<i64>, Refusal> {
    optional(body, name, |value| whole(value).filter(|number| allowed.contains(number)), rule)
}

/// Any field: absent, or read by `parse`; a null is not an absence.
pub fn optional<T>(
    body: &Map<String, Value>,
    name: &str,
    parse: impl Fn(&Value) -> Option<T>,
    rule: &str,
) -> Result<Option<T>, Refusal> {
    match body.get(name) {
        None => Ok(None),
        Some(value) => parse(value).map(Some).ok_or_else(|| Refusal::field(name, rule)),
    }
}
