//! Serves the proxy on a listener.

use std::{convert::Infallible, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures::FutureExt as _;
use hyper::{
    Request, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

use super::{
    answer::{Answer, text_answer},
    connections::Permit,
    forward::{Connection, answer},
    limits::{HEADER_TIMEOUT, MAX_HEADER_BYTES},
    run::RunEgress,
};

/// Pause after a panic or a listener error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);
/// The answer to a connection over the limit.
const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// User name in the proxy's address. The secret is the password.
const USER: &str = "run";

/// A single command's proxy.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) run: Arc<RunEgress>,
    /// The command's secret, where other programs reach the listener as well.
    pub(super) secret: Option<Arc<str>>,
    /// Fired when the command has ended.
    pub(super) closed: CancellationToken,
}

/// Returns the header with which a client authenticates.
pub(super) fn credentials(secret: &str) -> String {
    format!(
        "Basic {}",
        BASE64_STANDARD.encode(format!("{USER}:{secret}"))
    )
}

/// Returns a proxy address with a secret.
pub(super) fn address(secret: Option<&str>, port: u16) -> String {
    let user = secret
        .map(|secret| format!("{USER}:{secret}@"))
        .unwrap_or_default();
    format!("http://{user}127.0.0.1:{port}")
}

impl Proxy {
    /// Serves a listener until the command has ended. A panic is logged, and the proxy goes on.
    pub(super) async fn supervise(self, listener: TcpListener) {
        let closed = self.closed.clone();
        let _ = closed
            .run_until_cancelled(restarted(|| self.serve(&listener)))
            .await;
    }

    pub(super) async fn serve(&self, listener: &TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => self.admit(stream),
                Err(error) => {
                    tracing::warn!(error = %error, "the egress proxy of a command accepts no connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn admit(&self, mut stream: TcpStream) {
        let (proxy, closed) = (self.clone(), self.closed.clone());
        let permit = self.run.connections.admit();
        tokio::spawn(async move {
            let handled = async {
                match permit {
                    Some(permit) => proxy.handle(stream, permit).await,
                    // Best effort: the connection is closed either way.
                    None => drop(stream.write_all(TOO_MANY).await),
                }
            };
            let _ = closed.run_until_cancelled(handled).await;
        });
    }

    async fn handle(self, stream: TcpStream, permit: Permit) {
        let connection = Connection {
            run: self.run,
            permit: Arc::new(permit),
            closed: self.closed,
        };
        let expected = self
            .secret
            .map(|secret| Sha256::digest(credentials(&secret)));
        let service = service_fn(move |request: Request<Incoming>| {
            let connection = connection.clone();
            let is_known = expected.is_none_or(|expected| {
                let given = request
                    .headers()
                    .get(header::PROXY_AUTHORIZATION)
                    .map(HeaderValue::as_bytes);
                given.is_some_and(|given| Sha256::digest(given) == expected)
            });
            async move {
                Ok::<_, Infallible>(if is_known {
                    answer(connection, request).await
                } else {
                    unauthenticated()
                })
            }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(MAX_HEADER_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
            .await;
        if let Err(error) = served {
            tracing::debug!(error = %error, "a connection to the egress proxy ended");
        }
    }
}

/// Runs a service again each time it panics. It has no other end.
pub(super) async fn restarted<F: Future<Output = ()>>(serve: impl Fn() -> F) {
    while AssertUnwindSafe(async { serve().await })
        .catch_unwind()
        .await
        .is_err()
    {
        tracing::error!("the egress proxy of a command panicked and is restarted");
        tokio::time::sleep(PAUSE).await;
    }
}

fn unauthenticated() -> Answer {
    let mut answer = text_answer(
        StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        "the secret of the run is missing",
    );
    answer.headers_mut().insert(
        header::PROXY_AUTHENTICATE,
        HeaderValue::from_static("Basic realm=\"ars\""),
    );
    answer
}
