//! The JSON-RPC envelope, checked in a fixed order (docs/reference/mcp.md#order-of-checks).

use ars_wire::{
    ErrorCode,
    mcp::{JSON_RPC, Response, RpcError},
};
use serde_json::{Map, Value};

/// A message that is valid.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// A message with an id.
    Request(Request),
    /// A message without an id. It is never answered and has no effect.
    Notification,
}

/// A request in a message.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    /// A string, a number or null.
    pub(super) id: Value,
    /// The method, known or not.
    pub(super) method: String,
    /// The parameters. Empty if they are no object.
    pub(super) params: Map<String, Value>,
}

/// Parses a message. The error is the response to it.
pub(super) fn parse(bytes: &[u8]) -> Result<Message, Box<Response>> {
    let value = serde_json::from_slice(bytes).map_err(|_| {
        invalid(
            Value::Null,
            ErrorCode::ParseError,
            "the body must be valid JSON",
        )
    })?;
    let Value::Object(mut fields) = value else {
        return Err(invalid(
            Value::Null,
            ErrorCode::InvalidRequest,
            "the body must be one JSON object",
        ));
    };
    let id = fields.remove("id");
    let valid_id = id
        .clone()
        .filter(|id| matches!(id, Value::String(_) | Value::Number(_) | Value::Null));
    let invalid_field = |text| {
        invalid(
            valid_id.clone().unwrap_or_default(),
            ErrorCode::InvalidRequest,
            text,
        )
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some(JSON_RPC) {
        return Err(invalid_field("jsonrpc must be \"2.0\""));
    }
    if id != valid_id {
        return Err(invalid_field("id must be a string, a number or null"));
    }
    let Some(Value::String(method)) = fields.remove("method") else {
        return Err(invalid_field("method must be a string"));
    };
    let params = object(fields.remove("params"));
    Ok(id.map_or(Message::Notification, |id| {
        Message::Request(Request { id, method, params })
    }))
}

/// Returns an object's fields, and none for any other value.
pub(super) fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(fields)) => fields,
        Some(_) | None => Map::new(),
    }
}

fn invalid(id: Value, code: ErrorCode, text: &str) -> Box<Response> {
    Box::new(Response::new(id, Err(RpcError::of_protocol(code, text))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the id and code in the response to an invalid message.
    fn rejected(text: &str) -> (Value, i64) {
        let response = serde_json::to_value(parse(text.as_bytes()).unwrap_err()).unwrap();
        assert!(!response.to_string().contains("canary"), "{response}");
        (
            response["id"].clone(),
            response["error"]["code"].as_i64().unwrap(),
        )
    }

    #[test]
    fn first_fault_of_a_message_is_reported() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for (text, id, code) in [
            ("", json!(null), -32700),
            ("{", json!(null), -32700),
            ("{} {}", json!(null), -32700),
            (deep.as_str(), json!(null), -32700),
            ("[]", json!(null), -32600),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
                json!(null),
                -32600,
            ),
            ("null", json!(null), -32600),
            (r#""canary""#, json!(null), -32600),
            ("{}", json!(null), -32600),
            (r#"{"id":7}"#, json!(7), -32600),
            (
                r#"{"id":"a","jsonrpc":2.0,"method":"ping"}"#,
                json!("a"),
                -32600,
            ),
            (r#"{"id":{},"jsonrpc":"canary"}"#, json!(null), -32600),
            (
                r#"{"id":{},"jsonrpc":"2.0","method":"ping"}"#,
                json!(null),
                -32600,
            ),
            (
                r#"{"id":true,"jsonrpc":"2.0","method":7}"#,
                json!(null),
                -32600,
            ),
            (
                r#"{"id":[1],"jsonrpc":"2.0","method":"ping"}"#,
                json!(null),
                -32600,
            ),
            (
                r#"{"id":-1.5,"jsonrpc":"2.0","method":7}"#,
                json!(-1.5),
                -32600,
            ),
            (r#"{"id":"b","jsonrpc":"2.0"}"#, json!("b"), -32600),
            (r#"{"jsonrpc":"2.0"}"#, json!(null), -32600),
        ] {
            assert_eq!(rejected(text), (id, code), "{text:.80}");
        }
    }

    #[test]
    fn message_without_an_id_is_a_notification() {
        for text in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"dispatch"}}"#,
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(Message::Notification), "{text}");
        }
    }

    #[test]
    fn null_is_an_id() {
        let text = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
        let request = Request {
            id: Value::Null,
            method: "ping".into(),
            params: Map::new(),
        };
        assert_eq!(parse(text.as_bytes()), Ok(Message::Request(request)));
    }

    #[test]
    fn parameters_that_are_no_object_are_empty() {
        for params in ["[1]", "7", "null", "\"x\""] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}"#);
            let Ok(Message::Request(request)) = parse(text.as_bytes()) else {
                panic!("{params}")
            };
            assert_eq!(request.params, Map::new(), "{params}");
        }
    }
}
