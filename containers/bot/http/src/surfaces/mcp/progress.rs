//! `dispatch` for a client with a progress token: notifications until the response.
//!
//! The client accepts an event stream. A run takes minutes, and clients give up on a request
//! without a byte, by default after a minute. Not here: tasks, which a client with revision
//! 2026-07-28 polls instead.

use std::{pin::Pin, time::Duration};

use ars_auth::TokenEntry;
use ars_events::sse::frames;
use ars_types::RunId;
use ars_wire::{
    ErrorCode,
    ingress::Reply,
    mcp::{JSON_RPC, Response, RpcError, ToolResult},
};
use axum::{
    http::{HeaderMap, StatusCode, header},
    response,
};
use futures::stream;
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, interval_at};

use super::{
    call::named,
    dispatch::{self, Dispatched},
    envelope::Request,
    failure::ToolFailure,
    tools,
};
use crate::{respond, server::sse, state::HttpState};

/// Interval between notifications, well below the minute after which clients give up.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
/// The text before the run exists.
const WAITING: &str = "The request waits for its run.";

type Ended = Pin<Box<dyn Future<Output = Result<Reply, ToolFailure>> + Send>>;
/// Returns the last message, in the client revision's form.
type Respond = Box<dyn FnOnce(Result<Reply, ToolFailure>) -> Value + Send>;
type Started = Pin<Box<dyn Future<Output = RunId> + Send>>;

/// Returns the progress token in a `dispatch`, if the client accepts an event stream.
pub(super) fn token(headers: &HeaderMap, request: &Request) -> Option<Value> {
    let is_dispatch = request.method == "tools/call"
        && request.params.get("name").and_then(Value::as_str) == Some(tools::DISPATCH);
    let token = request.params.get("_meta")?.get("progressToken")?;
    let is_valid = token.is_string() || token.is_number();
    (is_dispatch && is_valid && accepts_stream(headers)).then(|| token.clone())
}

fn accepts_stream(headers: &HeaderMap) -> bool {
    let values = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut ranges = values.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let media_type = range.split(';').next().unwrap_or_default().trim();
        media_type.eq_ignore_ascii_case("text/event-stream")
    })
}

/// Answers with notifications, and the response at the run's end.
pub(super) fn answer(
    state: &HttpState,
    entry: &TokenEntry,
    request: Request,
    token: Value,
) -> response::Response {
    let Request { id, params, .. } = request;
    let (_, arguments) = named(params);
    match dispatch::begin(state, entry, &arguments, false) {
        Err(failure) => respond::json(StatusCode::OK, &response_of(id, Err(failure))),
        Ok(dispatched) => {
            let respond =
                move |ended| serde_json::to_value(response_of(id, ended)).unwrap_or_default();
            notified(state, dispatched, token, respond)
        }
    }
}

/// Notifies until the run's end, and then sends the last message.
pub(super) fn notified(
    state: &HttpState,
    dispatched: Dispatched,
    token: Value,
    respond: impl FnOnce(Result<Reply, ToolFailure>) -> Value + Send + 'static,
) -> response::Response {
    let watched = Watched::new(state.clone(), token, dispatched, Box::new(respond));
    sse::response(stream::unfold(Some(watched), Watched::next), None)
}

/// A dispatched request whose client is notified.
struct Watched {
    state: HttpState,
    token: Value,
    respond: Respond,
    started: Option<Started>,
    ended: Ended,
    ticks: Interval,
    sent: u64,
    message: String,
}

impl Watched {
    fn new(state: HttpState, token: Value, dispatched: Dispatched, respond: Respond) -> Self {
        let started: Started = Box::pin(dispatched.started());
        Self {
            state,
            token,
            respond,
            started: Some(started),
            ended: Box::pin(dispatched.ended()),
            ticks: interval_at(Instant::now() + PROGRESS_INTERVAL, PROGRESS_INTERVAL),
            sent: 0,
            message: WAITING.to_owned(),
        }
    }

    /// Returns the next frame: the run's start, time passing, or the response as the last frame.
    async fn next(watched: Option<Self>) -> Option<(String, Option<Self>)> {
        let mut watched = watched?;
        let started = async {
            match &mut watched.started {
                Some(started) => started.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            run = started => {
                watched.started = None;
                let page = watched.state.core.settings().run_url(&run);
                watched.message = format!("Run {run} is in progress: {page}");
            }
            ended = &mut watched.ended => {
                return Some((frame(&(watched.respond)(ended)), None));
            }
            _ = watched.ticks.tick() => {}
        }
        watched.sent += 1;
        Some((watched.notification(), Some(watched)))
    }

    fn notification(&self) -> String {
        frame(&json!({
            "jsonrpc": JSON_RPC,
            "method": "notifications/progress",
            "params": { "progressToken": self.token, "progress": self.sent, "message": self.message },
        }))
    }
}

fn response_of(id: Value, ended: Result<Reply, ToolFailure>) -> Response {
    let result = ended.map(|reply| ToolResult::text(reply.reply));
    let result = result.map_err(|failure| RpcError::of_tool(failure.code, failure.text));
    let value = result.and_then(|result| {
        let internal = |_| RpcError::of_protocol(ErrorCode::Internal, "internal error");
        serde_json::to_value(&result).map_err(internal)
    });
    Response::new(id, value)
}

fn frame(message: &Value) -> String {
    format!("event: message\n{}", frames::data(&message.to_string()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_a_dispatch_with_token_and_stream_is_notified() {
        let both = "application/json, text/event-stream";
        let call = |name: &str, meta: Value| json!({ "name": name, "_meta": meta });
        let with = json!({ "progressToken": 7 });
        for (accept, method, params, expected) in [
            (
                both,
                "tools/call",
                call("dispatch", with.clone()),
                Some(json!(7)),
            ),
            (
                both,
                "tools/call",
                call("dispatch", json!({ "progressToken": "a" })),
                Some(json!("a")),
            ),
            (
                both,
                "tools/call",
                call("dispatch", json!({ "progressToken": {} })),
                None,
            ),
            (both, "tools/call", call("dispatch", json!({})), None),
            (both, "tools/call", call("runs_list", with.clone()), None),
            (both, "tools/list", call("dispatch", with.clone()), None),
            (
                "application/json",
                "tools/call",
                call("dispatch", with),
                None,
            ),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            let params = params.as_object().unwrap().clone();
            let request = Request {
                id: json!(1),
                method: method.into(),
                params,
            };
            assert_eq!(
                token(&headers, &request),
                expected,
                "{accept} {method} {request:?}"
            );
        }
    }
}
