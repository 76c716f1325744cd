//! Limits concurrent connections: for each run, and for all runs together.
//!
//! A connection keeps two process files open, for the command and for the host. Runs within their
//! own limits could otherwise use up the whole service's files.

use std::sync::{Arc, LazyLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::MAX_ALL_CONNECTIONS;

/// Connections for all runs in this process.
static ALL: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(MAX_ALL_CONNECTIONS)));

/// The connections that a run may have.
pub(super) struct Connections {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// Permits that a connection holds.
pub(super) struct Permit {
    _permits: [OwnedSemaphorePermit; 2],
}

impl Connections {
    /// Makes a run's connections with this limit.
    pub(super) fn of_run(max: usize) -> Self {
        Self::among(&ALL, max)
    }

    fn among(all: &Arc<Semaphore>, max: usize) -> Self {
        Self {
            own: Arc::new(Semaphore::new(max)),
            all: Arc::clone(all),
        }
    }

    /// Returns permits for another connection, or `None` at a limit.
    pub(super) fn admit(&self) -> Option<Permit> {
        let own = Arc::clone(&self.own).try_acquire_owned().ok()?;
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Permit {
            _permits: [own, all],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_all_runs_are_limited() {
        let all = Arc::new(Semaphore::new(3));
        let (first, second) = (Connections::among(&all, 2), Connections::among(&all, 2));
        let kept = [first.admit(), first.admit(), second.admit()];
        assert!(
            kept.iter().all(Option::is_some) && first.admit().is_none() && second.admit().is_none()
        );
        drop(kept);
        // A connection refused by either limit holds no permit from the other.
        assert!(second.admit().is_some() && all.available_permits() == 3);
    }
}
