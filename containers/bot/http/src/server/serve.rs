//! The accept loop: HTTP/1.1 with a limit on how long a head may take, the peer's address, and a graceful end.
//!
//! Written on hyper because `axum::serve` installs no timer, and without one hyper's header timeout does nothing:
//! a caller who sends one byte a minute would hold a connection for ever.

use std::{convert::Infallible, io, net::SocketAddr, time::Duration};

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
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::{linger::Linger, stall::Stall};

/// How long a request head may take; also how long a kept-alive connection may idle.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);
/// How long a reader may take nothing of what is written to it. The specification cuts slow readers off and leaves the
/// time open; a browser tab that sleeps is back within it or begins again after its last event.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);
/// How long connections may take to finish after the streams were told to end.
const CLOSE_DEADLINE: Duration = Duration::from_secs(10);
/// Wait after a failed accept, which is nearly always the process running out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Fires when the server is closing, so that streams without an end of their own end.
#[derive(Debug, Clone)]
pub(crate) struct Closing(pub(crate) CancellationToken);

/// Serves until `shutdown` completes, then ends the streams and lets the other connections finish.
pub async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()> + Send) {
    serve_within(WRITE_DEADLINE, listener, router, shutdown).await;
}

/// The same with another deadline for readers who take nothing.
pub(crate) async fn serve_within(
    write_deadline: Duration,
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send,
) {
    let closing = Closing(CancellationToken::new());
    let connections = GracefulShutdown::new();
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Event frames are small and must not wait for each other; a socket that refuses is gone already.
                drop(stream.set_nodelay(true));
                connect(
                    Stall::new(Linger::new(stream), write_deadline),
                    peer,
                    &router,
                    &closing,
                    &connections,
                );
            }
            Err(error) => {
                tracing::warn!(error = %error, "connection not accepted");
                if !is_of_one_connection(&error) {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
    drop(listener);
    closing.0.cancel();
    if tokio::time::timeout(CLOSE_DEADLINE, connections.shutdown()).await.is_err() {
        tracing::warn!("connections cut off at the end of the shutdown");
    }
}

fn connect(
    stream: Stall<Linger>,
    peer: SocketAddr,
    router: &Router,
    closing: &Closing,
    connections: &GracefulShutdown,
) {
    let (router, closing) = (router.clone(), closing.clone());
    let service = service_fn(move |request| answer(request, peer, router.clone(), closing.clone()));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        // A caller that breaks off or sends garbage is everyday life of a server.
        if let Err(error) = connection.await {
            tracing::debug!(error = %error, "connection ended early");
        }
    });
}

async fn answer(
    request: Request<Incoming>,
    peer: SocketAddr,
    router: Router,
    closing: Closing,
) -> Result<Response<Body>, Infallible> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    request.extensions_mut().insert(closing);
    router.oneshot(request).await
}

/// Failures that say something about one caller only, so that the next accept may come at once.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
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
    async fn a_head_that_trickles_in_is_cut_off() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(serve(listener, Router::new(), std::future::pending()));
        for head in ["", "GET / HTTP/1.1\r\nhost: x\r\nslow: "] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // It may be cut off by a reset.
            let _ = stream.read_to_end(&mut answer).await;
            assert!(!answer.starts_with(b"HTTP/1.1 2"), "{head:?}");
        }
        server.abort();
    }
}
