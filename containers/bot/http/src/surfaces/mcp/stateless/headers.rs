//! Headers that repeat parts of the body, so that proxies can route without parsing it.

use axum::http::HeaderMap;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rmcp::model::ErrorData;
use serde_json::{Map, Value};

pub(super) use crate::surfaces::mcp::version::HEADER as VERSION;
/// Names the called method.
const METHOD: &str = "mcp-method";
/// Names the tool or the task.
const NAME: &str = "mcp-name";

/// Fails unless the headers equal the body's values.
///
/// # Errors
///
/// A header is missing, repeated, malformed or differs.
pub(super) fn check(
    headers: &HeaderMap,
    version: &str,
    method: &str,
    params: &Map<String, Value>,
) -> Result<(), ErrorData> {
    equals(headers, VERSION, version)?;
    equals(headers, METHOD, method)?;
    match name_field(method).and_then(|field| params.get(field)?.as_str()) {
        Some(name) => equals(headers, NAME, name),
        None => Ok(()),
    }
}

/// Returns the parameter that `Mcp-Name` repeats.
fn name_field(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

fn equals(headers: &HeaderMap, name: &'static str, expected: &str) -> Result<(), ErrorData> {
    let mut values = headers.get_all(name).iter();
    let (value, repeated) = (values.next(), values.next());
    let value = value
        .filter(|_| repeated.is_none())
        .and_then(|value| value.to_str().ok());
    let decoded = value.and_then(|value| {
        if name == NAME {
            decoded(value)
        } else {
            Some(value.to_owned())
        }
    });
    if decoded.as_deref() == Some(expected) {
        return Ok(());
    }
    Err(ErrorData::header_mismatch(
        format!("the header {name} must occur once and equal the body's value"),
        None,
    ))
}

/// Decodes a name: text that a header cannot carry is sent as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    fn checked(headers: &[(&'static str, &str)], method: &str, params: &Value) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        check(&map, "v1", method, params.as_object().unwrap()).is_ok()
    }

    #[test]
    fn headers_equal_the_body() {
        let (version, list, call) = (
            (VERSION, "v1"),
            (METHOD, "tools/list"),
            (METHOD, "tools/call"),
        );
        let encoded = (NAME, "=?base64?w6Q=?=");
        for (headers, method, params, expected) in [
            (&[version, list][..], "tools/list", json!({}), true),
            (&[version], "tools/list", json!({}), false),
            (&[list], "tools/list", json!({}), false),
            (&[(VERSION, "v2"), list], "tools/list", json!({}), false),
            (&[version, list, list], "tools/list", json!({}), false),
            (
                &[version, (METHOD, "TOOLS/LIST")],
                "tools/list",
                json!({}),
                false,
            ),
            (
                &[version, call, (NAME, "a")],
                "tools/call",
                json!({"name": "a"}),
                true,
            ),
            (
                &[version, call, (NAME, "b")],
                "tools/call",
                json!({"name": "a"}),
                false,
            ),
            (&[version, call], "tools/call", json!({"name": "a"}), false),
            (&[version, call], "tools/call", json!({"name": 7}), true),
            (
                &[version, call, encoded],
                "tools/call",
                json!({"name": "ä"}),
                true,
            ),
            (
                &[version, call, (NAME, "=?base64?!?=")],
                "tools/call",
                json!({"name": "a"}),
                false,
            ),
            (
                &[version, (METHOD, "tasks/get"), (NAME, "t")],
                "tasks/get",
                json!({"taskId": "t"}),
                true,
            ),
            (
                &[version, (METHOD, "tasks/get")],
                "tasks/get",
                json!({"taskId": "t"}),
                false,
            ),
        ] {
            assert_eq!(
                checked(headers, method, &params),
                expected,
                "{headers:?} {params}"
            );
        }
    }
}
