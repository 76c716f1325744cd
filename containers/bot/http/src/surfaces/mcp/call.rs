//! `tools/call`: a command, or `dispatch`.

use ars_auth::TokenEntry;
use ars_bot_core::commands::{Caller, Failure};
use ars_commands::{Definition, RawInput};
use ars_wire::{
    ErrorCode,
    mcp::{RpcError, ToolResult},
};
use serde_json::{Map, Value};

use super::{dispatch, envelope::object, tools};
use crate::state::HttpState;

/// Calls the tool that the parameters name. Arguments that are no object are empty.
pub(super) async fn call(
    state: &HttpState,
    entry: &TokenEntry,
    mut params: Map<String, Value>,
) -> Result<ToolResult, RpcError> {
    let arguments = object(params.remove("arguments"));
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    if let Some(definition) = state.core.commands().registry().tool(name) {
        return command(state, entry, definition, arguments).await;
    }
    if name != tools::DISPATCH {
        return Err(RpcError::of_tool(ErrorCode::InvalidInput, "the tool is unknown"));
    }
    dispatch::dispatch(state, entry, &arguments).await
}

/// Invokes a command in a separate task, so that a caller that disconnects does not interrupt it.
async fn command(
    state: &HttpState,
    entry: &TokenEntry,
    definition: &'static Definition,
    arguments: Map<String, Value>,
) -> Result<ToolResult, RpcError> {
    let (commands, caller) = (state.core.commands(), Caller::mcp(entry));
    let invoked =
        tokio::spawn(
            async move { commands.invoke(&caller, definition.id, &RawInput::Object(arguments)).await },
        );
    let success = invoked.await.map_err(|error| internal(&error))?.map_err(of_failure)?;
    Ok(ToolResult::text(format!("{}: ok\n{}", definition.id, success.json)))
}

fn of_failure(failure: Failure) -> RpcError {
    RpcError::of_tool(failure.code, failure.message)
}

/// Logs a fault and returns an error without its details.
pub(super) fn internal(error: &tokio::task::JoinError) -> RpcError {
    tracing::error!(error = %error, "a tool failed outside its own handling");
    RpcError::of_tool(ErrorCode::Internal, "internal error")
}
