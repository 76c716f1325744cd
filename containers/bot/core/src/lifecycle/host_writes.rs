//! A run's writes to the code host: only by the run's owner, and within a time limit.
//!
//! The run's state is stored before each write. A process that lost the run learns it there, so two
//! processes never write for the same run, and the next process finds what this process began.

use std::time::Duration;

use ars_agent::resume::RunState;

use super::active::ActiveRun;
use crate::live::{LedgerClaim, Stepped};

/// Maximum time for a run's code host writes, including waits for the host's limits.
const HOST_WRITES_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Waits between attempts to store the state before a write.
const STATE_WAITS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(200),
    Duration::from_secs(1),
];

impl ActiveRun {
    /// Changes and stores the run's state. Returns whether this process may write to the code host.
    pub(super) async fn may_write(&self, change: impl FnOnce(&mut RunState)) -> bool {
        let tracked = match &self.claim {
            LedgerClaim::Untracked => return true,
            // Another process may own the run.
            LedgerClaim::Unconfirmed(_) => return false,
            LedgerClaim::Confirmed(tracked) => tracked,
        };
        tracked.change(change);
        for wait in STATE_WAITS {
            tokio::time::sleep(wait).await;
            match tracked.store_state().await {
                Stepped::Stored => return true,
                Stepped::Fenced => return false,
                Stepped::NotStored => {}
            }
        }
        false
    }

    /// Runs the writes. `None` if they take too long, the run is stopped hard, or another process owns it.
    pub(super) async fn bounded<T>(&self, writes: impl Future<Output = T>) -> Option<T> {
        let stops = self.run.stops();
        tokio::select! {
            biased;
            () = stops.hard.cancelled() => None,
            () = self.claim.fenced() => None,
            done = tokio::time::timeout(HOST_WRITES_TIMEOUT, writes) => done.ok(),
        }
    }
}
