//! One connection of the event socket.
//!
//! It is an HTTP request that is upgraded, so it goes through the same proxy and the same TLS as
//! other requests. Not here: when to connect again (`service.rs`).

use std::time::Duration;

use ars_slack::event::Envelope;
use futures::{SinkExt as _, StreamExt as _};
use reqwest::{StatusCode, Upgraded, Url, header};
use serde_json::json;
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::{client::generate_key, derive_accept_key},
        protocol::{Role, WebSocketConfig},
    },
};

use crate::api::{Api, ApiError};

/// Timeout for connecting, and for the first frame after it.
const SOCKET_CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Silence after which a connection counts as lost.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);
/// Time between own pings. The answers break the silence of a quiet workspace.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Timeout for sending a frame.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of an event.
const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

/// Why no connection was made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The platform gave no address.
    #[error(transparent)]
    Address(#[from] ApiError),
    /// The address did not upgrade to a socket.
    #[error("the event socket of Slack was not opened")]
    Socket,
}

/// An open connection. Dropping it closes the socket.
pub struct Connection {
    stream: WebSocketStream<Upgraded>,
    pings: tokio::time::Interval,
    heard: Instant,
}

impl Connection {
    /// Connects, and waits until the platform says that events follow.
    ///
    /// # Errors
    /// The platform refuses the token, or does not answer in time.
    pub async fn open(api: &Api) -> Result<Self, ConnectError> {
        let url = api.open_connection().await?;
        let opened = timeout(SOCKET_CONNECT_TIMEOUT, async {
            let mut connection = Self::upgrade(api, url).await?;
            match connection.next().await {
                Some(Envelope::Hello) => Ok(connection),
                Some(_) | None => Err(ConnectError::Socket),
            }
        });
        opened.await.map_err(|_| ConnectError::Socket)?
    }

    async fn upgrade(api: &Api, url: Url) -> Result<Self, ConnectError> {
        let key = generate_key();
        let sent = api
            .http()
            .get(url)
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key)
            .send();
        let response = sent.await.map_err(|_| ConnectError::Socket)?;
        let accepted = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        let is_accepted = accepted.is_some_and(|accepted| {
            accepted.as_bytes() == derive_accept_key(key.as_bytes()).as_bytes()
        });
        if response.status() != StatusCode::SWITCHING_PROTOCOLS || !is_accepted {
            return Err(ConnectError::Socket);
        }
        let upgraded = response.upgrade().await.map_err(|_| ConnectError::Socket)?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_EVENT_BYTES))
            .max_frame_size(Some(MAX_EVENT_BYTES));
        let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        let now = Instant::now();
        Ok(Self {
            stream,
            pings: interval_at(now + PING_INTERVAL, PING_INTERVAL),
            heard: now,
        })
    }

    /// Waits for the next envelope. Returns `None` once the connection is lost. May be cancelled.
    pub async fn next(&mut self) -> Option<Envelope> {
        loop {
            tokio::select! {
                frame = self.stream.next() => {
                    let frame = frame?.ok()?;
                    self.heard = Instant::now();
                    match frame {
                        Message::Text(text) => return Some(Envelope::parse(&text)),
                        Message::Close(_) => return None,
                        _ => {}
                    }
                }
                _ = self.pings.tick() => {
                    if self.heard.elapsed() > SILENCE_LIMIT {
                        return None;
                    }
                    self.send(Message::Ping(Vec::new().into())).await?;
                }
            }
        }
    }

    /// Acknowledges an envelope. Returns `None` once the connection is lost.
    pub async fn acknowledge(&mut self, envelope: &str) -> Option<()> {
        let text = json!({ "envelope_id": envelope }).to_string();
        self.send(Message::Text(text.into())).await
    }

    async fn send(&mut self, frame: Message) -> Option<()> {
        timeout(SEND_TIMEOUT, self.stream.send(frame))
            .await
            .ok()?
            .ok()
    }
}
