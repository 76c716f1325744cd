//! `tools/call`: a command, or `dispatch` at its end or as a task.

use ars_auth::TokenEntry;
use ars_bot_core::commands::Success;
use ars_types::RunStatus;
use ars_wire::{
    ErrorCode,
    ingress::{ErrorBody, Reply},
};
use axum::response::Response;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData};
use serde_json::{Map, Value};

use super::{
    answer::{internal, message, response, result},
    metadata::Client,
    tasks,
};
use crate::{
    state::HttpState,
    surfaces::mcp::{
        call::{invoke, named, text_of, unknown},
        dispatch,
        failure::ToolFailure,
        progress, tools,
    },
};

/// Calls the tool that the parameters name. Arguments that are no object are empty.
pub(super) async fn call(
    state: &HttpState,
    entry: &TokenEntry,
    params: Map<String, Value>,
    client: &Client,
) -> Result<Value, ErrorData> {
    let (name, arguments) = named(params);
    let called = if let Some(definition) = state.core.commands().registry().tool(&name) {
        invoke(state, entry, definition, arguments)
            .await
            .map(|success| of_command(&success))
    } else if name == tools::DISPATCH {
        match dispatched(state, entry, &arguments, client).await? {
            Outcome::Task(task) => return Ok(task),
            Outcome::Ended(ended) => ended.map(of_reply),
        }
    } else {
        return Err(ErrorData::invalid_params(
            unknown(state, entry, &name).1,
            None,
        ));
    };
    settled(called)
}

/// Dispatches for a client without tasks that asks for progress.
pub(super) fn notified(
    state: &HttpState,
    entry: &TokenEntry,
    id: Value,
    params: Map<String, Value>,
    token: Value,
) -> Response {
    let (_, arguments) = named(params);
    match dispatch::begin(state, entry, &arguments, false) {
        Ok(dispatched) => progress::notified(state, dispatched, token, move |ended| {
            message(id, settled(ended.map(of_reply)))
        }),
        Err(failure) => response(id, settled(Err(failure))),
    }
}

/// Returns a call's result. Only a fault is an error.
fn settled(called: Result<CallToolResult, ToolFailure>) -> Result<Value, ErrorData> {
    match called {
        Ok(called) => result(&called),
        Err(failure) if failure.code == ErrorCode::Internal => Err(internal()),
        Err(failure) => result(&of_failure(failure)),
    }
}

enum Outcome {
    Task(Value),
    Ended(Result<Reply, ToolFailure>),
}

/// Dispatches. A client with tasks receives a task as soon as there is a run.
async fn dispatched(
    state: &HttpState,
    entry: &TokenEntry,
    arguments: &Map<String, Value>,
    client: &Client,
) -> Result<Outcome, ErrorData> {
    let dispatched = match dispatch::begin(state, entry, arguments, client.has_tasks()) {
        Ok(dispatched) => dispatched,
        Err(failure) => return Ok(Outcome::Ended(Err(failure))),
    };
    if !client.has_tasks() {
        return Ok(Outcome::Ended(dispatched.ended().await));
    }
    let started = dispatched.started();
    tokio::select! {
        // If both are ready, the run was created first.
        biased;
        run = started => tasks::created(state, entry, &run).await.map(Outcome::Task),
        ended = dispatched.ended() => Ok(Outcome::Ended(ended)),
    }
}

fn of_command(success: &Success) -> CallToolResult {
    let mut called = CallToolResult::success(vec![ContentBlock::text(text_of(success))]);
    // The handler wrote this JSON, so it parses.
    called.structured_content = serde_json::from_str(&success.json).ok();
    called
}

fn of_reply(reply: Reply) -> CallToolResult {
    let status = reply.run.map(|run| run.status);
    // A code comes from a request that dispatch rejected, or from a command that failed.
    let has_failed =
        reply.code.is_some() || matches!(status, Some(RunStatus::Failed | RunStatus::Interrupted));
    of_answer(reply.reply, has_failed)
}

/// Returns the result with a run's answer.
pub(super) fn of_answer(text: String, has_failed: bool) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    if has_failed {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    }
}

/// Returns a failed tool's result. The text is the `/api` error body.
fn of_failure(failure: ToolFailure) -> CallToolResult {
    let body = ErrorBody {
        error: failure.text,
        code: Some(failure.code),
        detail: None,
    };
    let text = serde_json::to_string(&body).unwrap_or_default();
    CallToolResult::error(vec![ContentBlock::text(text)])
}
