//! Ends a step from outside: by cancellation or deadline.

use std::time::{Duration, Instant};

use ars_resident::daemon::{FailureKind, StepFailure};
use tokio_util::sync::CancellationToken;

use crate::failure::Result;

/// Why a step stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    TimedOut,
    Cancelled,
}

/// A step's cancellation and deadline.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    token: CancellationToken,
    deadline: Instant,
}

impl Stop {
    pub(crate) fn new(token: CancellationToken, timeout: Duration) -> Self {
        Self {
            token,
            deadline: Instant::now() + timeout,
        }
    }

    /// Returns a failure once the step must stop. Work that blocks checks it regularly.
    pub(crate) fn check(&self) -> Result<()> {
        match () {
            () if self.token.is_cancelled() => Err(Why::Cancelled.into()),
            () if Instant::now() >= self.deadline => Err(Why::TimedOut.into()),
            () => Ok(()),
        }
    }

    /// Waits until the step must stop.
    pub(crate) async fn stopped(&self) -> Why {
        tokio::select! {
            () = self.token.cancelled() => Why::Cancelled,
            () = tokio::time::sleep_until(self.deadline.into()) => Why::TimedOut,
        }
    }

    /// Runs a future until the step must stop.
    pub(crate) async fn until<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        tokio::select! {
            value = future => Ok(value),
            why = self.stopped() => Err(why.into()),
        }
    }
}

impl From<Why> for StepFailure {
    fn from(why: Why) -> Self {
        match why {
            Why::TimedOut => Self::new(FailureKind::Timeout, "the time limit was reached"),
            Why::Cancelled => Self::new(FailureKind::Cancelled, "the step was cancelled"),
        }
    }
}
