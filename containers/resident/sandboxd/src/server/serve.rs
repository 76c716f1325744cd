//! The daemon's accept loop: a connection for each request, and limits.
//!
//! The Worker's runtime opens a connection for each request and keeps it open, so the daemon closes
//! it after the response: kept connections would use up the file descriptors within a thousand
//! calls.

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

/// Maximum concurrent connections. Further connections wait in the listener's queue. Each of 16
/// users and a cycle has a step, a transfer and a measurement, many times over.
pub const CONNECTIONS_MAX: usize = 512;
/// Timeout for a request's head to arrive.
const HEAD_DEADLINE: Duration = Duration::from_secs(5);
/// Pause after a failed accept, which nearly always means that no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until the listener is dropped with the future.
pub async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(answer(stream, router.clone(), place));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection is not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn answer(stream: TcpStream, router: Router, _place: OwnedSemaphorePermit) {
    // A step's lines are small and do not wait for each other. A socket that fails here is closed
    // already.
    drop(stream.set_nodelay(true));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A caller that disconnects cancels the request, which is ordinary.
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Raises the open file limit to the highest that the system permits.
///
/// # Errors
/// The system refuses it. The limit is unchanged.
pub fn raise_file_limit() -> io::Result<()> {
    let own = getrlimit(Resource::Nofile);
    Ok(setrlimit(
        Resource::Nofile,
        Rlimit {
            current: own.maximum,
            maximum: own.maximum,
        },
    )?)
}
