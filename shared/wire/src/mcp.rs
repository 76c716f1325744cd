//! The `POST /mcp` bodies: JSON-RPC 2.0 with one response per request, for the 2025 protocols.
//!
//! Not here: a request's check order and the tools (`ars-bot-http`).

use serde::Serialize;
use serde_json::Value;

use crate::ErrorCode;

/// Accepts the method `POST` only.
pub const ROUTE: &str = "/mcp";
/// The value of `jsonrpc` in every message.
pub const JSON_RPC: &str = "2.0";
/// Protocol versions, oldest first.
pub const VERSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", LATEST_VERSION];
/// The version for a client that offers an unknown version.
pub const LATEST_VERSION: &str = "2025-11-25";

/// Returns the protocol version for a client that offers this version.
pub fn negotiated(offered: Option<&str>) -> &'static str {
    VERSIONS
        .into_iter()
        .find(|version| offered == Some(version))
        .unwrap_or(LATEST_VERSION)
}

/// A response: a result or an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Response {
    jsonrpc: &'static str,
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

impl Response {
    /// Returns the response with a result or an error. `id` is null if the request's id is unknown.
    pub fn new(id: Value, outcome: Result<Value, RpcError>) -> Self {
        let (result, error) = match outcome {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            jsonrpc: JSON_RPC,
            id,
            result,
            error,
        }
    }

    /// Returns the request's id, or null.
    pub fn id(&self) -> &Value {
        &self.id
    }

    /// Returns the error, or `None` for a result.
    pub fn error(&self) -> Option<&RpcError> {
        self.error.as_ref()
    }
}

/// The error in a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RpcError {
    /// JSON-RPC code for the error.
    pub code: i32,
    /// Short text. Names fields, never their values.
    pub message: String,
    /// The service's code, for tool errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorData>,
}

/// An error's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ErrorData {
    /// The code that `/api` and the command line show too.
    pub code: ErrorCode,
}

impl RpcError {
    /// Returns an error from the transport or the protocol.
    pub fn of_protocol(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.json_rpc_code(),
            message: message.into(),
            data: None,
        }
    }

    /// Returns an error from a tool.
    pub fn of_tool(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            data: Some(ErrorData { code }),
            ..Self::of_protocol(code, message)
        }
    }
}

/// What `initialize` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    /// The version that was negotiated.
    pub protocol_version: &'static str,
    /// Features that the server has.
    pub capabilities: Capabilities,
    /// Name and version of the server.
    pub server_info: ServerInfo,
    /// Advice for the client's model.
    pub instructions: &'static str,
}

/// Server features: a fixed tool list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Always an empty object.
    pub tools: NoDetails,
}

/// An object without any field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct NoDetails {}

/// The server, for clients that show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerInfo {
    /// Name of the server.
    pub name: &'static str,
    /// The interface's version.
    pub version: &'static str,
}

/// A tool's result: a single text, and for a command its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The content, always a single item.
    pub content: [Content; 1],
    /// The output that the tool's schema describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
}

/// An item in a tool's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    /// An item with plain text.
    Text {
        /// The text as returned.
        text: String,
    },
}

impl ToolResult {
    /// Returns the result with this text.
    pub fn text(text: String) -> Self {
        Self {
            content: [Content::Text { text }],
            structured_content: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_versions_are_kept() {
        for version in VERSIONS {
            assert_eq!(negotiated(Some(version)), version);
        }
        for other in [None, Some("2024-11-05"), Some("2099-01-01"), Some("")] {
            assert_eq!(negotiated(other), "2025-11-25", "{other:?}");
        }
    }

    #[test]
    fn responses_have_the_forms_of_the_protocol() {
        let result = Response::new(json!("a"), Ok(json!({})));
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({"jsonrpc": "2.0", "id": "a", "result": {}})
        );
        let error = RpcError::of_protocol(ErrorCode::ParseError, "x");
        let error = serde_json::to_value(Response::new(Value::Null, Err(error))).unwrap();
        assert_eq!(
            error,
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "x"}})
        );
        let error = serde_json::to_value(RpcError::of_tool(ErrorCode::Unavailable, "y")).unwrap();
        assert_eq!(
            error,
            json!({"code": -32004, "message": "y", "data": {"code": "unavailable"}})
        );
        let result = serde_json::to_value(ToolResult::text("z".into())).unwrap();
        assert_eq!(result, json!({"content": [{"type": "text", "text": "z"}]}));
    }

    #[test]
    fn initialization_announces_tools_only() {
        let result = Initialized {
            protocol_version: LATEST_VERSION,
            capabilities: Capabilities::default(),
            server_info: ServerInfo {
                name: "n",
                version: "v",
            },
            instructions: "i",
        };
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "n", "version": "v"}, "instructions": "i"})
        );
    }
}
