//! The accept loop: HTTP/1.1 with connection limits, a head deadline, and a graceful shutdown.
//!
//! Built on hyper because `axum::serve` installs no timer, and hyper's header timeout needs a
//! timer. Without it a caller that sends a byte a minute would hold a connection indefinitely.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Request, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::{
    connections::{Connection, ConnectionLimits, Connections},
    excess::Excess,
    held_body,
    linger::Linger,
    stall::Stall,
};

/// Time in which a request head must arrive, and for which a kept-alive connection may idle.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);
/// Time for which a reader may accept no bytes. A suspended browser tab is back within it, or
/// reconnects after the last event.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);
/// Time for connections to finish after their streams were ended.
const CLOSE_DEADLINE: Duration = Duration::from_secs(10);
/// Pause after a failed accept, which nearly always means that no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum connections above the limits that get a response at once. More are closed without.
const MAX_REJECTING: usize = 64;

/// Fires when the server shuts down, so that endless streams end.
#[derive(Debug, Clone)]
pub(crate) struct Closing(pub(crate) CancellationToken);

/// Serves until `shutdown` completes, then ends the streams and waits for the other connections.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    shutdown: impl Future<Output = ()> + Send,
) {
    Server::new(router, limits, WRITE_DEADLINE)
        .serve(listener, shutdown)
        .await;
}

/// The parts that all connections share.
pub(crate) struct Server {
    router: Router,
    closing: Closing,
    connections: Arc<Connections>,
    rejecting: Arc<Semaphore>,
    write_deadline: Duration,
}

impl Server {
    /// Returns a server with a write deadline.
    pub(crate) fn new(router: Router, limits: ConnectionLimits, write_deadline: Duration) -> Self {
        Self {
            router,
            closing: Closing(CancellationToken::new()),
            connections: Connections::new(limits),
            rejecting: Arc::new(Semaphore::new(MAX_REJECTING)),
            write_deadline,
        }
    }

    /// Serves until `shutdown` completes.
    pub(crate) async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) {
        let graceful = GracefulShutdown::new();
        tokio::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut shutdown => break,
            };
            match accepted {
                Ok((stream, peer)) => self.connect(stream, peer, &graceful),
                Err(error) => {
                    tracing::warn!(error = %error, "connection not accepted");
                    if !is_of_one_connection(&error) {
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                }
            }
        }
        drop(listener);
        self.closing.0.cancel();
        if tokio::time::timeout(CLOSE_DEADLINE, graceful.shutdown())
            .await
            .is_err()
        {
            tracing::warn!("connections cut off at the end of the shutdown");
        }
    }

    fn connect(&self, stream: TcpStream, peer: SocketAddr, graceful: &GracefulShutdown) {
        // Event frames are small and must not wait for each other. A socket that fails here is closed already.
        drop(stream.set_nodelay(true));
        let connection = match self.connections.admit(peer.ip()) {
            Ok(connection) => connection,
            Err(excess) => {
                tracing::debug!(%peer, ?excess, "connection rejected");
                if let Ok(permit) = Arc::clone(&self.rejecting).try_acquire_owned() {
                    tokio::spawn(turn_away(stream, excess, permit));
                }
                return;
            }
        };
        let (router, closing, own) = (
            self.router.clone(),
            self.closing.clone(),
            Arc::clone(&connection),
        );
        let service = service_fn(move |request| {
            answer(
                request,
                peer,
                router.clone(),
                closing.clone(),
                Arc::clone(&own),
            )
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_DEADLINE)
            .serve_connection(
                TokioIo::new(Stall::new(Linger::new(stream), self.write_deadline)),
                service,
            );
        let served = graceful.watch(served);
        tokio::spawn(async move {
            let ended = tokio::select! {
                ended = served => ended,
                () = connection.closed.cancelled() => {
                    tracing::debug!("an idle connection closed for a new one");
                    return;
                }
            };
            // Callers that disconnect or send garbage are ordinary.
            if let Err(error) = ended {
                tracing::debug!(error = %error, "connection ended early");
            }
        });
    }
}

/// Answers a connection above a limit without reading the request.
async fn turn_away(stream: TcpStream, excess: Excess, _permit: OwnedSemaphorePermit) {
    let mut stream = Linger::new(stream);
    // The caller may be gone.
    if stream.write_all(excess.head().as_bytes()).await.is_ok() {
        drop(stream.shutdown().await);
    }
}

async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    router: Router,
    closing: Closing,
    connection: Arc<Connection>,
) -> Result<Response<Body>, Infallible> {
    let in_flight = match connection.begin(request.headers(), peer) {
        Ok(in_flight) => in_flight,
        Err(excess) => return Ok(excess.answer("requests")),
    };
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    request.extensions_mut().insert(closing);
    let answered = router.oneshot(request).await;
    answered.map(|response| held_body::hold(response, in_flight))
}

/// Returns `true` for an error on a single connection, after which the next accept needs no pause.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn trickling_head_is_cut_off() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limits = ConnectionLimits::default();
        let server = tokio::spawn(serve(
            listener,
            Router::new(),
            limits,
            std::future::pending(),
        ));
        for head in ["", "GET / HTTP/1.1\r\nhost: x\r\nslow: "] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // A reset may cut it off.
            let _ = stream.read_to_end(&mut answer).await;
            assert!(!answer.starts_with(b"HTTP/1.1 2"), "{head:?}");
        }
        server.abort();
    }
}
