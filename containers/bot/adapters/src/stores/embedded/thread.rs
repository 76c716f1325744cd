//! The thread that owns the stores: serves requests, and sweeps at the start and every six hours.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use ars_bot_ports::Clock;
use ars_runs::SWEEP_EVERY_MS;
use ars_wire::state::Route;
use tokio::sync::oneshot;

use super::{super::transport::StoreResponse, stores::Stores};

/// Pause between sweep parts, in which requests are served.
const SOON: Duration = Duration::from_millis(100);

/// A request to the thread.
pub(super) struct StoreJob {
    pub(super) route: Route,
    pub(super) body: String,
    /// The receiver may be gone; the request is executed anyway, as it is over HTTP.
    pub(super) reply: oneshot::Sender<StoreResponse>,
}

/// Serves until every sender is dropped.
pub(super) fn serve(mut stores: Stores, queue: &Receiver<StoreJob>, clock: &dyn Clock) {
    let every = Duration::from_millis(SWEEP_EVERY_MS.unsigned_abs());
    let mut sweep_at = Instant::now();
    loop {
        let left = sweep_at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let wait = if stores.sweep(clock.now()) {
                SOON
            } else {
                every
            };
            sweep_at = Instant::now() + wait;
            continue;
        }
        match queue.recv_timeout(left) {
            // The receiver may be gone.
            Ok(job) => drop(
                job.reply
                    .send(stores.answer(job.route, &job.body, clock.now())),
            ),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
