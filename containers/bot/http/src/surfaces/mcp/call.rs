//! `tools/call`: a command, or `dispatch`.

use ars_auth::TokenEntry;
use ars_bot_core::commands::{Caller, Success};
use ars_commands::{Definition, RawInput};
use ars_wire::{
    ErrorCode,
    mcp::{RpcError, ToolResult},
};
use serde_json::{Map, Value};

use super::{dispatch, envelope::object, failure::ToolFailure, tools};
use crate::state::HttpState;

/// Failure text for a tool whose name is not in the list.
const UNKNOWN: &str = "the tool is unknown";

/// Calls the tool that the parameters name. Arguments that are no object are empty.
pub(super) async fn call(
    state: &HttpState,
    entry: &TokenEntry,
    params: Map<String, Value>,
) -> Result<ToolResult, RpcError> {
    let (name, arguments) = named(params);
    let called = if let Some(definition) = state.core.commands().registry().tool(&name) {
        invoke(state, entry, definition, arguments)
            .await
            .map(|success| of_command(&success))
    } else if name == tools::DISPATCH {
        dispatch::dispatch(state, entry, &arguments)
            .await
            .map(|reply| ToolResult::text(reply.reply))
    } else {
        let (code, text) = unknown(state, entry, &name);
        return Err(RpcError::of_tool(code, text));
    };
    called.map_err(|failure| RpcError::of_tool(failure.code, failure.text))
}

/// Returns the tool's name and arguments.
pub(super) fn named(mut params: Map<String, Value>) -> (String, Map<String, Value>) {
    let arguments = object(params.remove("arguments"));
    let name = params
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    (name.to_owned(), arguments)
}

/// Returns code and text for a tool that does not exist, or whose part is off. Writes the audit
/// line, with the tool's name as command id.
pub(super) fn unknown(state: &HttpState, entry: &TokenEntry, name: &str) -> (ErrorCode, String) {
    let failure = state
        .core
        .commands()
        .unknown(&Caller::mcp(entry), &name.replacen('_', ".", 1));
    match failure.command {
        Some(_) => (failure.code, failure.message),
        None => (ErrorCode::InvalidInput, UNKNOWN.to_owned()),
    }
}

/// Returns a command's result as text, and as the JSON that the schema describes.
fn of_command(success: &Success) -> ToolResult {
    // The handler wrote this JSON, so it parses.
    let structured_content = serde_json::from_str(&success.json).ok();
    ToolResult {
        structured_content,
        ..ToolResult::text(text_of(success))
    }
}

/// Returns a command result's text.
pub(super) fn text_of(success: &Success) -> String {
    format!("{}: ok\n{}", success.definition.id, success.json)
}

/// Invokes a command in a separate task, so that a caller that disconnects does not interrupt it.
pub(super) async fn invoke(
    state: &HttpState,
    entry: &TokenEntry,
    definition: &'static Definition,
    arguments: Map<String, Value>,
) -> Result<Success, ToolFailure> {
    let (commands, caller) = (state.core.commands(), Caller::mcp(entry));
    // A denied command does not count.
    commands.admit(&caller, definition.id)?;
    state.count_command(&caller.actor.id, definition.effect.is_write())?;
    let invoked = tokio::spawn(async move {
        commands
            .invoke(&caller, definition.id, &RawInput::Object(arguments))
            .await
    });
    Ok(invoked
        .await
        .map_err(|error| ToolFailure::internal(&error))??)
}
