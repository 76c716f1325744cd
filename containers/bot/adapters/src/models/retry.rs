//! Retries failed model calls.

use std::time::Duration;

use ars_bot_ports::{ModelDelta, ModelError, ModelErrorKind, RetryCause};
use backon::{BackoffBuilder, ExponentialBuilder};
use tokio_util::sync::CancellationToken;

/// Attempts at a busy provider. With the backoff below, some 15 to 30 seconds.
const BUSY_ATTEMPTS: u32 = 5;
/// Attempts at an unreachable or interrupted provider: a wrong address should be reported soon.
const BROKEN_ATTEMPTS: u32 = 3;
/// First backoff; each further backoff doubles, plus up to the same again at random.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest backoff, unless the provider requests another.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Longest wait a provider may request. Longer waits fail the call instead of using up the run's
/// time.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(120);

/// The retry policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts when the provider is overloaded or limits the rate.
    pub busy_attempts: u32,
    /// Attempts when the provider is unreachable or the stream broke.
    pub broken_attempts: u32,
    /// Wait before the first retry.
    pub first_wait: Duration,
    /// Longest backoff, unless the provider requests another.
    pub longest_wait: Duration,
    /// Longest wait a provider may request.
    pub longest_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            busy_attempts: BUSY_ATTEMPTS,
            broken_attempts: BROKEN_ATTEMPTS,
            first_wait: FIRST_WAIT,
            longest_wait: LONGEST_WAIT,
            longest_retry_after: LONGEST_RETRY_AFTER,
        }
    }
}

impl RetryPolicy {
    /// Returns the wait before the next attempt, a provider's own if given, or `None` for a final failure.
    fn wait(&self, error: &ModelError, attempt: u32, ours: Option<Duration>) -> Option<Duration> {
        let (attempts, requested) = match &error.kind {
            ModelErrorKind::Overloaded { retry_after }
            | ModelErrorKind::RateLimited { retry_after } => (self.busy_attempts, *retry_after),
            // A broken stream may start over: a turn is returned complete or not at all, and prose already shown is
            // harmless.
            ModelErrorKind::Unreachable | ModelErrorKind::Failed | ModelErrorKind::Protocol => {
                (self.broken_attempts, None)
            }
            ModelErrorKind::Unauthorized
            | ModelErrorKind::Invalid
            | ModelErrorKind::ContextTooLong
            | ModelErrorKind::FileRejected
            | ModelErrorKind::Cancelled => return None,
        };
        if attempt >= attempts {
            return None;
        }
        match requested {
            Some(requested) => (requested <= self.longest_retry_after).then_some(requested),
            None => ours,
        }
    }
}

/// Calls until success, a final failure, or cancellation, which closes the attempt's connection.
pub(super) async fn with_retries<T, F, A>(
    policy: &RetryPolicy,
    deltas: &(dyn Fn(ModelDelta) + Send + Sync),
    cancel: &CancellationToken,
    attempt: A,
) -> Result<T, ModelError>
where
    F: Future<Output = Result<T, ModelError>>,
    A: Fn() -> F,
{
    let mut waits = ExponentialBuilder::new()
        .with_jitter()
        .with_min_delay(policy.first_wait)
        .with_max_delay(policy.longest_wait)
        .without_max_times()
        .build();
    let mut attempts = 0;
    loop {
        attempts += 1;
        let error = match unless_cancelled(cancel, attempt()).await? {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let Some(wait) = policy.wait(&error, attempts, waits.next()) else {
            return Err(error);
        };
        tracing::debug!(attempts, wait_ms = wait.as_millis(), error = %error, "model call failed; trying again");
        deltas(ModelDelta::Retrying {
            attempt: attempts,
            wait,
            cause: cause(&error.kind),
        });
        unless_cancelled(cancel, tokio::time::sleep(wait)).await?;
    }
}

/// Returns why a call that failed in this way is retried.
const fn cause(kind: &ModelErrorKind) -> RetryCause {
    match kind {
        ModelErrorKind::Overloaded { .. } | ModelErrorKind::RateLimited { .. } => {
            RetryCause::Overload
        }
        ModelErrorKind::Unreachable => RetryCause::Unreachable,
        ModelErrorKind::Failed => RetryCause::Failed,
        ModelErrorKind::Unauthorized
        | ModelErrorKind::Invalid
        | ModelErrorKind::ContextTooLong
        | ModelErrorKind::FileRejected
        | ModelErrorKind::Protocol
        | ModelErrorKind::Cancelled => RetryCause::BrokenAnswer,
    }
}

async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, ModelError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => {
            Err(ModelError { kind: ModelErrorKind::Cancelled, message: "the run was stopped".into() })
        }
        done = work => Ok(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ModelErrorKind) -> ModelError {
        ModelError {
            kind,
            message: String::new(),
        }
    }

    #[test]
    fn a_providers_own_wait_wins_within_reason() {
        let policy = RetryPolicy::default();
        let ours = Some(Duration::from_secs(1));
        let asking = |seconds| {
            let retry_after = Some(Duration::from_secs(seconds));
            policy.wait(&error(ModelErrorKind::RateLimited { retry_after }), 1, ours)
        };
        assert_eq!(asking(30), Some(Duration::from_secs(30)));
        assert_eq!(asking(0), Some(Duration::ZERO));
        assert_eq!(asking(121), None);
        let unasked = error(ModelErrorKind::Overloaded { retry_after: None });
        assert_eq!(policy.wait(&unasked, 4, ours), ours);
        assert_eq!(policy.wait(&unasked, 5, ours), None);
    }

    #[test]
    fn retry_says_why_the_attempt_failed() {
        let text = |kind| cause(&kind).to_string();
        assert_eq!(text(ModelErrorKind::Unreachable), "cannot be reached");
        assert_eq!(text(ModelErrorKind::Failed), "failed to answer");
        assert_eq!(
            text(ModelErrorKind::Overloaded { retry_after: None }),
            "is busy"
        );
        assert_eq!(text(ModelErrorKind::Protocol), "broke off its answer");
    }

    #[test]
    fn what_a_retry_cannot_change_is_not_retried() {
        let policy = RetryPolicy::default();
        let ours = Some(Duration::from_secs(1));
        for kind in [
            ModelErrorKind::Unauthorized,
            ModelErrorKind::Invalid,
            ModelErrorKind::ContextTooLong,
        ] {
            assert_eq!(policy.wait(&error(kind), 1, ours), None);
        }
        for kind in [
            ModelErrorKind::Unreachable,
            ModelErrorKind::Failed,
            ModelErrorKind::Protocol,
        ] {
            assert_eq!(policy.wait(&error(kind.clone()), 2, ours), ours);
            assert_eq!(policy.wait(&error(kind), 3, ours), None);
        }
    }
}
