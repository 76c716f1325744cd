//! The methods.

use ars_auth::TokenEntry;
use ars_wire::{
    ErrorCode,
    mcp::{self, Capabilities, Initialized, Response, RpcError, ServerInfo},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{call, envelope::Request, tools};
use crate::state::HttpState;

/// The server, as clients show it. The version is that of the interface, not of the build.
pub(super) const SERVER: ServerInfo = ServerInfo {
    name: "agent-request-service",
    version: "0.1.0",
};

/// Returns the response to a request.
pub(super) async fn answer(state: &HttpState, entry: &TokenEntry, request: Request) -> Response {
    let Request { id, method, params } = request;
    let outcome = match method.as_str() {
        "initialize" => to_json(&initialize(&params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tools::list(&state.core.commands()) })),
        "tools/call" => call::call(state, entry, params)
            .await
            .and_then(|result| to_json(&result)),
        _ => Err(RpcError::of_protocol(
            ErrorCode::MethodNotFound,
            "the method is unknown",
        )),
    };
    Response::new(id, outcome)
}

fn initialize(params: &Map<String, Value>) -> Initialized {
    let offered = params.get("protocolVersion").and_then(Value::as_str);
    Initialized {
        protocol_version: mcp::negotiated(offered),
        capabilities: Capabilities::default(),
        server_info: SERVER,
        instructions: tools::INSTRUCTIONS,
    }
}

fn to_json<T: Serialize>(result: &T) -> Result<Value, RpcError> {
    serde_json::to_value(result).map_err(|error| {
        // Results are plain data with string keys, so this is a bug.
        tracing::error!(error = %error, "result has no JSON form");
        RpcError::of_protocol(ErrorCode::Internal, "internal error")
    })
}
