//! Keeps a socket connected, and hands its events on.

use std::{sync::Arc, time::Duration};

use ars_bot_core::time::iso;
use ars_bot_ports::Randomness;
use ars_slack::event::{Envelope, Press};
use tokio::{
    sync::{Notify, Semaphore, mpsc},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{ConnectError, Connection};
use crate::{catch_up, receive, workspace::Workspace};

/// Wait after the first failed connection; it doubles with each further one.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// Longest wait between connections.
const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// Wait while the platform rejects the tokens: only an operator can mend that.
const REVOKED_BACKOFF: Duration = Duration::from_secs(60);

/// Events that are being accepted at once. Others have to be delivered again.
const MAX_ACCEPTING: usize = 256;

/// The socket's service.
pub struct SlackService(pub Workspace);

impl SlackService {
    /// Runs until `stop` fires. During a drain no socket is open.
    pub async fn run(self, stop: CancellationToken) {
        let Self(workspace) = self;
        let draining = workspace.draining.clone();
        let connected = Notify::new();
        tokio::select! {
            () = stop.cancelled() => {}
            () = draining.cancelled() => {}
            () = keep(&workspace, &connected) => {}
            () = catch_up(&workspace, &connected) => {}
        }
        disconnected(&workspace);
        stop.cancelled().await;
        workspace.cards.settled().await;
    }
}

/// Catches up after each connection. One that is made meanwhile is caught up afterwards. Never
/// returns.
async fn catch_up(workspace: &Workspace, connected: &Notify) {
    loop {
        connected.notified().await;
        catch_up::run(workspace).await;
    }
}

/// Connects again and again. Never returns.
async fn keep(workspace: &Workspace, connected: &Notify) {
    let mut backoff = FIRST_BACKOFF;
    loop {
        match connect(workspace).await {
            Ok(connection) => {
                backoff = FIRST_BACKOFF;
                show_connected(workspace);
                connected.notify_one();
                let closed = serve(workspace, connection).await;
                disconnected(workspace);
                if closed == Closed::Refreshed {
                    continue;
                }
            }
            Err(ConnectError::Address(error)) if error.is_revoked() => {
                tracing::error!(%error, "Slack rejects a token: set a valid one");
                backoff = REVOKED_BACKOFF;
            }
            Err(error) => tracing::warn!(%error, "no chat connection"),
        }
        sleep(jittered(backoff)).await;
        backoff = (backoff * 2).min(MAX_BACKOFF);
    }
}

/// Connects, if the bot's token is valid too: without it no event could be served.
async fn connect(workspace: &Workspace) -> Result<Connection, ConnectError> {
    workspace.account().await?;
    Connection::open(&workspace.api).await
}

/// How a connection ended.
#[derive(PartialEq, Eq)]
enum Closed {
    /// The platform asked for another one.
    Refreshed,
    Lost,
}

async fn serve(workspace: &Workspace, mut connection: Connection) -> Closed {
    // An event may need calls before it is accepted, and is accepted even if the socket is lost.
    let accepting = Arc::new(Semaphore::new(MAX_ACCEPTING));
    let (accepted, mut acknowledged) = mpsc::unbounded_channel();
    loop {
        let id = tokio::select! {
            Some(id) = acknowledged.recv() => Some(id),
            envelope = connection.next() => match envelope {
                None => return Closed::Lost,
                Some(Envelope::Disconnect { .. }) => return Closed::Refreshed,
                Some(Envelope::Hello) => None,
                Some(Envelope::EventsApi { envelope_id, payload, .. }) => {
                    // Without room it is not acknowledged, and delivered again.
                    if let Ok(permit) = Arc::clone(&accepting).try_acquire_owned() {
                        let (workspace, accepted) = (workspace.clone(), accepted.clone());
                        tokio::spawn(async move {
                            if receive::accept(&workspace, &payload).await {
                                // The socket may be gone.
                                let _ = accepted.send(envelope_id);
                            }
                            drop(permit);
                        });
                    }
                    None
                }
                Some(Envelope::Interactive { envelope_id, payload }) => {
                    if let Some(press) = Press::parse(&payload) {
                        tokio::spawn(receive::press(workspace.clone(), press));
                    }
                    Some(envelope_id)
                }
                Some(Envelope::Unknown { envelope_id }) => envelope_id,
            },
        };
        if let Some(id) = id
            && connection.acknowledge(&id).await.is_none()
        {
            return Closed::Lost;
        }
    }
}

fn show_connected(workspace: &Workspace) {
    let since = workspace.core().map(|core| iso(core.clock().now()));
    workspace.status.send_modify(|status| {
        status.chat.connected = true;
        status.chat.since = since;
        status.chat.connects = Some(status.chat.connects.unwrap_or_default() + 1);
    });
    tracing::info!("chat connected");
}

fn disconnected(workspace: &Workspace) {
    workspace.status.send_if_modified(|status| {
        let was_connected = status.chat.connected;
        status.chat.connected = false;
        status.chat.since = None;
        was_connected
    });
}

/// Returns a time between half and the whole, so that processes do not reconnect together.
fn jittered(time: Duration) -> Duration {
    // Without randomness everybody waits for the whole time.
    let [byte] = Randomness::default().bytes().unwrap_or_default();
    time - time / 2 * u32::from(byte) / 255
}
