//! `POST /ingress`: gate, body, dispatch, and the answer at the run's end or at its creation.

use std::sync::Arc;

use ars_auth::{Actor, Ingress, TokenEntry};
use ars_bot_ports::{Choices, IncomingMessage};
use ars_events::InputSource;
use ars_types::{ChannelName, RunId, ThreadKey, ThreadName, UnixMillis, Visibility};
use ars_wire::ingress::Accepted;
use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};
use tokio::task::{JoinError, JoinHandle};

use super::{
    body::{self, Body},
    channel::HttpChannel,
};
use crate::{
    auth::gate::admit,
    error::IngressError,
    respond,
    server::{MAX_BODY_BYTES, read_body},
    state::HttpState,
};

/// Every method arrives here, because the gate's first check is the method.
pub(crate) async fn post(State(state): State<HttpState>, request: Request) -> Response {
    serve(&state, request).await.unwrap_or_else(IngressError::into_response)
}

async fn serve(state: &HttpState, request: Request) -> Result<Response, IngressError> {
    let (head, stream) = request.into_parts();
    let entry = admit(&head.method, &head.headers, &state.tokens)?;
    let bytes = read_body(stream, MAX_BODY_BYTES).await?;
    let Body { text, channel, thread, history, is_async } =
        body::parse(&bytes).map_err(IngressError::BadBody)?;
    drop(bytes);

    let message = message(entry, text, channel, thread, state.core.clock().now());
    let thread_key = message.thread_key.clone();
    let io = Arc::new(HttpChannel::new(history));
    let started = io.started();
    let dispatched = dispatch(state, message, &io);
    if !is_async {
        return collected(dispatched.await, &io);
    }
    tokio::select! {
        // If both are ready, the run was created first.
        biased;
        run = started => Ok(accepted(state, run, &thread_key)),
        ended = dispatched => collected(ended, &io),
    }
}

/// Dispatches in a separate task, so that the run continues when the caller disconnects.
fn dispatch(state: &HttpState, message: IncomingMessage, io: &Arc<HttpChannel>) -> JoinHandle<()> {
    let core = state.core.clone();
    let io: Arc<HttpChannel> = Arc::clone(io);
    tokio::spawn(async move { core.dispatch(message, io).await })
}

fn collected(ended: Result<(), JoinError>, io: &HttpChannel) -> Result<Response, IngressError> {
    match ended {
        // Checked last: an unauthorized or malformed request gets its own error during a drain too.
        Ok(()) if io.is_rejected_by_shutdown() => Err(IngressError::Draining),
        Ok(()) => Ok(respond::json(StatusCode::OK, &io.collected())),
        Err(error) => {
            tracing::error!(error = %error, "dispatch threw outside its own handling");
            Err(IngressError::Internal)
        }
    }
}

fn accepted(state: &HttpState, run: RunId, thread_key: &ThreadKey) -> Response {
    let run_url = state.core.settings().run_url(&run);
    let body = Accepted { run_id: run, run_url, thread_key: thread_key.to_string() };
    respond::json(StatusCode::ACCEPTED, &body)
}

/// Returns the message of a request. A token acts as its own subject and in its pinned channel only.
fn message(
    entry: &TokenEntry,
    text: String,
    channel: Option<ChannelName>,
    thread: Option<ThreadName>,
    received_at: UnixMillis,
) -> IncomingMessage {
    let platform = Ingress::Http.as_str();
    let channel = entry.channel.clone().or(channel).unwrap_or_default();
    let thread_key = ThreadKey::of(platform, &channel, &thread.unwrap_or_default());
    let actor = Actor::service(Ingress::Http, entry);
    let channel_id = format!("{platform}:{channel}");
    let source = InputSource { url: None, channel: Some(channel_id.clone()), user: Some(actor.id.clone()) };
    IncomingMessage {
        actor,
        channel_id,
        thread_key,
        visibility: Visibility::Machine,
        text,
        received_at,
        choices: Choices::default(),
        source: Some(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(pinned: Option<&str>, channel: Option<&str>, thread: Option<&str>) -> IncomingMessage {
        let entry = TokenEntry {
            subject: "ann".into(),
            channel: pinned.map(channel_name),
            scopes: vec!["dispatch".into()],
        };
        let thread = thread.map(|name| ThreadName::parse(name).unwrap());
        message(&entry, " hi ".into(), channel.map(channel_name), thread, 5)
    }

    fn channel_name(name: &str) -> ChannelName {
        ChannelName::parse(name).unwrap()
    }

    #[test]
    fn pinned_channel_overrides_the_requested_one() {
        for (pinned, channel, thread, channel_id, thread_key) in [
            (None, None, None, "http:default", "http:default:default"),
            (None, Some("ops"), None, "http:ops", "http:ops:default"),
            (Some("ci"), Some("ops"), Some("t1"), "http:ci", "http:ci:t1"),
            (Some("ci"), None, None, "http:ci", "http:ci:default"),
        ] {
            let message = sent(pinned, channel, thread);
            assert_eq!(message.actor.id, "http:ann");
            assert_eq!((message.channel_id.as_str(), message.thread_key.as_str()), (channel_id, thread_key));
            assert_eq!((message.visibility, message.text.as_str()), (Visibility::Machine, " hi "));
            assert_eq!(message.received_at, 5);
        }
    }
}
