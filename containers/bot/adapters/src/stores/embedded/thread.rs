//! The thread that owns the stores: requests as they come, and the sweep at the start and every six hours (state-worker
//! supplement section 11).

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use ars_bot_ports::Clock;
use ars_runs::SWEEP_EVERY_MS;
use ars_wire::state::Route;
use tokio::sync::oneshot;

use super::{super::transport::Answer, stores::Stores};

/// From a sweep that left something to the next: requests go between.
const SOON: Duration = Duration::from_millis(100);

/// One request.
pub(super) struct Job {
    pub(super) route: Route,
    pub(super) body: String,
    /// Nobody may be waiting any more; the work is done all the same, as it is behind HTTP.
    pub(super) reply: oneshot::Sender<Answer>,
}

/// Serves until nobody can ask any more.
pub(super) fn serve(mut stores: Stores, queue: &Receiver<Job>, clock: &dyn Clock) {
    let every = Duration::from_millis(SWEEP_EVERY_MS.unsigned_abs());
    let mut sweep_at = Instant::now();
    loop {
        let left = sweep_at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let wait = if stores.sweep(clock.now()) { SOON } else { every };
            sweep_at = Instant::now() + wait;
            continue;
        }
        match queue.recv_timeout(left) {
            // The asker may have gone.
            Ok(job) => drop(job.reply.send(stores.answer(job.route, &job.body, clock.now()))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
