//! Pages of lists: limits and cursors.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::Answer;
use crate::slack::arguments::Arguments;

/// Maximum items in a page.
const LIMIT_MAX: usize = 1_000;

/// Returns the page size that a call asks for.
pub(super) fn limit(arguments: &Arguments, default: usize) -> Result<usize, Answer> {
    let Some(text) = arguments.text("limit") else {
        return Ok(default);
    };
    match text.parse() {
        Ok(0) => Ok(default),
        Ok(limit) if limit <= LIMIT_MAX => Ok(limit),
        _ => Err(Answer::error("invalid_limit")),
    }
}

/// Returns the position in a call's cursor, which an earlier page of this kind had.
pub(super) fn position(arguments: &Arguments, kind: &str) -> Result<Option<String>, Answer> {
    let Some(cursor) = arguments.text("cursor") else {
        return Ok(None);
    };
    let decoded = STANDARD.decode(cursor.as_bytes()).ok();
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    let position =
        decoded.and_then(|text| Some(text.strip_prefix(kind)?.strip_prefix(':')?.to_owned()));
    position
        .map(Some)
        .ok_or_else(|| Answer::error("invalid_cursor"))
}

/// Returns the metadata of a page with the next one's position, if there is one.
pub(super) fn metadata(kind: &str, next: Option<&str>) -> Value {
    let cursor = next.map(|position| STANDARD.encode(format!("{kind}:{position}")));
    json!({ "next_cursor": cursor.unwrap_or_default() })
}
