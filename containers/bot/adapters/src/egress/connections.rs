//! The number of concurrent connections: of each run, and of all runs together.
//!
//! A connection keeps two files of the process open, one to the command and one to the host. Runs within their own
//! limits could otherwise use up the files of the whole service.

use std::sync::{Arc, LazyLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::MAX_ALL_CONNECTIONS;

/// The connections of all runs of this process.
static ALL: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(MAX_ALL_CONNECTIONS)));

/// The connections that a run may have.
pub(super) struct Connections {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// The permits of one connection.
pub(super) struct Permit {
    _permits: [OwnedSemaphorePermit; 2],
}

impl Connections {
    /// Returns the connections of a run with this limit.
    pub(super) fn of_run(max: usize) -> Self {
        Self::among(&ALL, max)
    }

    fn among(all: &Arc<Semaphore>, max: usize) -> Self {
        Self {
            own: Arc::new(Semaphore::new(max)),
            all: Arc::clone(all),
        }
    }

    /// Returns the permits of one more connection, or `None` at a limit.
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
        // A connection that was refused by one limit holds no permit of the other.
        assert!(second.admit().is_some() && all.available_permits() == 3);
    }
}
