//! Responses in this revision.

use ars_wire::mcp::{self, JSON_RPC};
use axum::{http::StatusCode, response::Response};
use rmcp::model::{ErrorCode, ErrorData, Implementation};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{respond, surfaces::mcp::methods::SERVER};

/// Key for the server in a result's metadata.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// An error response. It has no id if the request's id is unknown.
#[derive(Serialize)]
struct Failed {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Value::is_null")]
    id: Value,
    error: ErrorData,
}

/// Returns the response with a result or an error.
pub(super) fn response(id: Value, outcome: Result<Value, ErrorData>) -> Response {
    let status = outcome
        .as_ref()
        .map_or_else(|error| status_of(error.code), |_| StatusCode::OK);
    respond::json(status, &message(id, outcome))
}

/// Returns the message with a result or an error.
pub(super) fn message(id: Value, outcome: Result<Value, ErrorData>) -> Value {
    let message = match outcome {
        Ok(result) => serde_json::to_value(mcp::Response::new(id, Ok(result))),
        Err(error) => serde_json::to_value(Failed {
            jsonrpc: JSON_RPC,
            id,
            error,
        }),
    };
    message.unwrap_or_default()
}

/// Returns the response to a message without a valid envelope.
pub(super) fn malformed(rejection: &mcp::Response) -> Response {
    let error = rejection.error();
    let code = error.map_or(ErrorCode::INVALID_REQUEST, |error| ErrorCode(error.code));
    let text = error.map(|error| error.message.clone()).unwrap_or_default();
    response(
        rejection.id().clone(),
        Err(ErrorData::new(code, text, None)),
    )
}

fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        ErrorCode::INTERNAL_ERROR => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// Returns a result as JSON, with the server in the metadata.
///
/// # Errors
///
/// The result has no JSON form.
pub(super) fn result<T: Serialize>(result: &T) -> Result<Value, ErrorData> {
    let mut result = serde_json::to_value(result).map_err(|error| {
        // Results are plain data with string keys, so this is a bug.
        tracing::error!(error = %error, "result has no JSON form");
        internal()
    })?;
    result["_meta"] = json!({ SERVER_INFO: Implementation::new(SERVER.name, SERVER.version) });
    Ok(result)
}

/// Returns the error for a fault, without the details.
pub(super) fn internal() -> ErrorData {
    ErrorData::internal_error("internal error", None)
}
