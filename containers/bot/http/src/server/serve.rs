//! The accept loop: HTTP/1.1 with a deadline for heads, the peer's address, and a graceful shutdown.
//!
//! Built on hyper because `axum::serve` installs no timer, and hyper's header timeout needs one. Without it a caller
//! that sends one byte a minute would hold a connection indefinitely.

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

/// Time in which a request head must arrive, and for which a kept-alive connection may idle.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);
/// Time for which a reader may accept no bytes.
/// A suspended browser tab is back within it, or reconnects after its last event.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);
/// Time for connections to finish after their streams were ended.
const CLOSE_DEADLINE: Duration = Duration::from_secs(10);
/// Pause after a failed accept, which nearly always means that no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Fires when the server shuts down, so that endless streams end.
#[derive(Debug, Clone)]
pub(crate) struct Closing(pub(crate) CancellationToken);

/// Serves until `shutdown` completes, then ends the streams and waits for the other connections.
pub async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()> + Send) {
    serve_within(WRITE_DEADLINE, listener, router, shutdown).await;
}

/// Serves with another write deadline.
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
                // Event frames are small and must not wait for each other. A socket that fails here is closed already.
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
        // Callers that disconnect or send garbage are ordinary.
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

/// Returns `true` for an error of a single connection, after which the next accept needs no pause.
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
    async fn trickling_head_is_cut_off() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(serve(listener, Router::new(), std::future::pending()));
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
