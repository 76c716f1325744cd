//! A Socket Mode connection: `hello`, envelopes, acknowledgements, pings and its end.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use futures::{SinkExt as _, StreamExt as _};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, handshake::derive_accept_key, protocol::Role},
};

use super::{
    envelopes::{Connection, Frame},
    shared::Shared,
    state::Workspace,
};

/// Accepts a handshake with an unused ticket. Returns the answer, and whether it is accepted.
pub(super) fn accept(
    workspace: &mut Workspace,
    query: &str,
    headers: &HeaderMap,
) -> (Response<Body>, bool) {
    let ticket = form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "ticket")
        .map(|(_, value)| value.into_owned());
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let response = Response::builder();
    let is_known = ticket.is_some_and(|ticket| workspace.sockets.tickets.remove(&ticket));
    let (Some(key), true) = (key, is_known) else {
        let refused = response.status(StatusCode::UNAUTHORIZED);
        return (refused.body(Body::empty()).expect("fixed parts"), false);
    };
    let accepted = response
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::UPGRADE, "websocket")
        .header(header::CONNECTION, "Upgrade")
        .header(
            header::SEC_WEBSOCKET_ACCEPT,
            derive_accept_key(key.as_bytes()),
        );
    (accepted.body(Body::empty()).expect("fixed parts"), true)
}

/// Serves a connection until either side ends it.
pub(super) async fn serve(shared: Arc<Shared>, upgrade: OnUpgrade) {
    let Ok(upgraded) = upgrade.await else { return };
    let mut socket =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
    let (sender, mut frames) = mpsc::unbounded_channel();
    let (id, hello) = open(&shared, sender);
    // The client may be gone; then the next read ends the connection.
    let _ = socket.send(Message::text(hello)).await;
    loop {
        let sent = tokio::select! {
            frame = frames.recv() => match frame {
                Some(Frame::Text(text)) => {
                    retry_later(&shared, &text);
                    socket.send(Message::text(text)).await
                }
                Some(Frame::Ping) => socket.send(Message::Ping(b"Ping from the fake".to_vec().into())).await,
                Some(Frame::Close) => socket.close(None).await,
                Some(Frame::Abort) | None => break,
            },
            message = socket.next() => match message {
                Some(Ok(message)) => {
                    received(&shared, &message);
                    Ok(())
                }
                Some(Err(_)) | None => break,
            },
        };
        if sent.is_err() {
            break;
        }
    }
    shared.change(|workspace| workspace.sockets.open.retain(|one| one.id != id));
}

/// Registers a connection. Returns its id and the first frame.
fn open(shared: &Shared, frames: mpsc::UnboundedSender<Frame>) -> (u64, String) {
    shared.change(|workspace| {
        let app_id = workspace.app_id.clone();
        let sockets = &mut workspace.sockets;
        sockets.opened += 1;
        let id = sockets.opened;
        sockets.open.push(Connection {
            id,
            frames,
            is_ending: false,
        });
        let hello = json!({
            "type": "hello", "num_connections": sockets.open.len(), "connection_info": { "app_id": app_id },
            "debug_info": {
                "host": format!("applink-{id}"), "build_number": 1, "approximate_connection_time": 18060,
            },
        });
        (id, hello.to_string())
    })
}

/// Stores acknowledgements and pongs.
fn received(shared: &Shared, message: &Message) {
    match message {
        Message::Text(text) => {
            let frame: Value = serde_json::from_str(text).unwrap_or_default();
            shared.change(|workspace| workspace.sockets.acknowledge(&frame));
        }
        Message::Pong(_) => shared.change(|workspace| workspace.sockets.pongs += 1),
        _ => {}
    }
}

/// Schedules another attempt, in case the envelope is not acknowledged in time.
fn retry_later(shared: &Arc<Shared>, text: &str) {
    let retry_after = shared.change(|workspace| workspace.sockets.retry_after);
    let frame: Value = serde_json::from_str(text).unwrap_or_default();
    let (Some(after), Some(id)) = (retry_after, frame["envelope_id"].as_str()) else {
        return;
    };
    let id = id.to_owned();
    let shared = Arc::downgrade(shared);
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        if let Some(shared) = shared.upgrade() {
            shared.change(|workspace| workspace.sockets.retry(&id));
        }
    });
}
