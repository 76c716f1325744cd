//! Methods in this revision.

use ars_auth::TokenEntry;
use ars_wire::mcp;
use axum::{http::HeaderMap, response::Response};
use rmcp::model::{
    CacheScope, DiscoverResult, ErrorCode, ErrorData, ListToolsResult, ServerCapabilities,
    TASKS_EXTENSION_ID, ToolsCapability,
};
use serde_json::{Map, Value};

use super::{
    answer::{malformed, response, result},
    call,
    metadata::{Client, supported},
    tasks,
};
use crate::{
    state::HttpState,
    surfaces::mcp::{
        envelope::{Message, Request},
        progress, tools,
    },
};

/// Milliseconds for which clients may use a server description; tools change with the process only.
const DESCRIPTION_MAX_AGE_MS: u64 = 300_000;

/// Returns the response to a message, or `None` for a notification.
pub(in super::super) async fn answer(
    state: &HttpState,
    entry: &TokenEntry,
    headers: &HeaderMap,
    message: Result<Message, Box<mcp::Response>>,
) -> Option<Response> {
    let request = match message {
        Ok(Message::Request(request)) => request,
        Ok(Message::Notification) => return None,
        Err(rejection) => return Some(malformed(&rejection)),
    };
    let token = progress::token(headers, &request);
    let Request { id, method, params } = request;
    if !(id.is_string() || id.is_i64() || id.is_u64()) {
        let error = ErrorData::invalid_request("id must be a string or an integer", None);
        return Some(response(Value::Null, Err(error)));
    }
    if let (Some(token), Ok(client)) = (token, Client::from_metadata(headers, &method, &params))
        && !client.has_tasks()
    {
        return Some(call::notified(state, entry, id, params, token));
    }
    Some(response(
        id,
        outcome(state, entry, headers, &method, params).await,
    ))
}

async fn outcome(
    state: &HttpState,
    entry: &TokenEntry,
    headers: &HeaderMap,
    method: &str,
    params: Map<String, Value>,
) -> Result<Value, ErrorData> {
    let client = Client::from_metadata(headers, method, &params)?;
    match method {
        "server/discover" => result(&discovered()),
        "tools/list" => result(&listed(state)),
        "tools/call" => call::call(state, entry, params, &client).await,
        "tasks/get" | "tasks/update" | "tasks/cancel" => {
            tasks::answer(state, entry, method, &params, &client).await
        }
        _ => Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            "the method is unknown",
            None,
        )),
    }
}

fn listed(state: &HttpState) -> ListToolsResult {
    ListToolsResult::with_all_items(tools::list(&state.core.commands()))
        .with_ttl_ms(DESCRIPTION_MAX_AGE_MS)
        .with_cache_scope(CacheScope::Private)
}

/// Describes the server: a constant tool list, and tasks.
fn discovered() -> DiscoverResult {
    let mut capabilities = ServerCapabilities::default();
    capabilities.tools = Some(ToolsCapability::default());
    capabilities.extensions = Some([(TASKS_EXTENSION_ID.to_owned(), Map::new())].into());
    let mut discovered = DiscoverResult::new(supported(), capabilities);
    discovered.instructions = Some(tools::INSTRUCTIONS.to_owned());
    discovered
        .with_ttl_ms(DESCRIPTION_MAX_AGE_MS)
        .with_cache_scope(CacheScope::Private)
}
