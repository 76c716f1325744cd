//! Retry policies for stores.
//!
//! Only transient failures are retried: an overloaded or unreachable store. A conflict is a result
//! and not retried. Not here: the reaction to a permanent failure.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::Duration,
};

use ars_bot_ports::{StoreError, StoreErrorKind};
use ars_types::RunId;
use backon::Retryable as _;
use tokio_util::sync::CancellationToken;

/// Waits between attempts, for a request kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    waits: &'static [Duration],
    jitter: Jitter,
}

/// Jitter, which keeps clients that failed together from retrying together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jitter {
    /// No jitter, for a run's short waits.
    None,
    /// Each wait times 0.5 to 1.5.
    Half,
}

const JITTER_STEPS: u64 = 1000;

impl Policy {
    /// A run's record, written in the background.
    pub const RECORD: Self = Self {
        waits: &[Duration::from_secs(1), Duration::from_secs(4)],
        jitter: Jitter::Half,
    };
    /// A claim, which delays the run.
    pub const CLAIM: Self = Self {
        waits: &[Duration::from_millis(200), Duration::from_millis(800)],
        jitter: Jitter::None,
    };
    /// A step record, which delays the step's tools.
    pub const STEP: Self = Self {
        waits: &[Duration::from_millis(200)],
        jitter: Jitter::None,
    };
    /// For dispatcher state. The next change replaces a lost change.
    pub const STATE: Self = Self::STEP;

    /// Runs attempts until success, permanent failure, or no waits are left. `run` is for the log.
    pub async fn run<T, F, A>(self, run: &RunId, attempt: A) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
        A: FnMut() -> F,
    {
        self.run_hurried(run, &CancellationToken::new(), attempt)
            .await
    }

    /// Like [`Self::run`], but `hurry` ends the waits, never a started attempt.
    pub(crate) async fn run_hurried<T, F, A>(
        self,
        run: &RunId,
        hurry: &CancellationToken,
        attempt: A,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
        A: FnMut() -> F,
    {
        let waits: Vec<_> = self
            .waits
            .iter()
            .map(|wait| self.jitter.applied_to(*wait, run))
            .collect();
        let hurry = hurry.clone();
        let sleep = move |wait| {
            let hurry = hurry.clone();
            async move {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = hurry.cancelled() => {}
                }
            }
        };
        attempt
            .retry(waits.into_iter())
            .sleep(sleep)
            .when(|error| error.kind == StoreErrorKind::Transient)
            .notify(|error, wait| {
                let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                tracing::warn!(run = %run, error = %error, wait_ms, "store not written yet");
            })
            .await
    }
}

impl Jitter {
    /// Returns the wait with jitter derived from the run's random id.
    fn applied_to(self, wait: Duration, run: &RunId) -> Duration {
        if self == Self::None {
            return wait;
        }
        let mut hasher = DefaultHasher::new();
        (run.as_str(), wait).hash(&mut hasher);
        let share = hasher.finish() % (JITTER_STEPS + 1);
        wait.mul_f64(0.5 + share as f64 / JITTER_STEPS as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::{sync::Notify, time::Instant};

    use super::*;

    /// Fails so often, then succeeds. Returns the result, the attempts made and the milliseconds waited.
    async fn play(
        policy: Policy,
        kind: StoreErrorKind,
        failures: usize,
    ) -> (Result<(), StoreError>, usize, u128) {
        play_run("r", policy, kind, failures).await
    }

    async fn play_run(
        run: &str,
        policy: Policy,
        kind: StoreErrorKind,
        failures: usize,
    ) -> (Result<(), StoreError>, usize, u128) {
        let attempts = AtomicUsize::new(0);
        let began = Instant::now();
        let run = RunId::parse(run).unwrap();
        let result = policy.run(&run, || async {
            if attempts.fetch_add(1, Ordering::Relaxed) < failures {
                return Err(StoreError {
                    kind,
                    message: "as scripted".into(),
                });
            }
            Ok(())
        });
        let result = result.await;
        (result, attempts.into_inner(), began.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn waits_of_claims_and_steps() {
        use StoreErrorKind::Transient;
        assert_eq!(play(Policy::CLAIM, Transient, 1).await, (Ok(()), 2, 200));
        assert_eq!(play(Policy::CLAIM, Transient, 2).await, (Ok(()), 3, 1000));
        let (result, attempts, waited) = play(Policy::CLAIM, Transient, 3).await;
        assert_eq!(
            (result.unwrap_err().kind, attempts, waited),
            (Transient, 3, 1000)
        );
        for policy in [Policy::STEP, Policy::STATE] {
            let (result, attempts, waited) = play(policy, Transient, 9).await;
            assert_eq!(
                (result.unwrap_err().kind, attempts, waited),
                (Transient, 2, 200)
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn record_is_tried_three_times() {
        let mut first_waits = std::collections::BTreeSet::new();
        for number in 0..50 {
            let run = format!("r{number}");
            let (result, attempts, waited) =
                play_run(&run, Policy::RECORD, StoreErrorKind::Transient, 1).await;
            assert_eq!((result, attempts), (Ok(()), 2));
            assert!((500..=1500).contains(&waited), "{waited}");
            first_waits.insert(waited);
            let (result, attempts, waited) =
                play_run(&run, Policy::RECORD, StoreErrorKind::Transient, 3).await;
            assert_eq!((result.is_err(), attempts), (true, 3));
            assert!((2500..=7500).contains(&waited), "{waited}");
        }
        // Runs that failed together retry at different times.
        assert!(first_waits.len() > 25, "{first_waits:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn permanent_failure_is_not_retried() {
        for kind in [StoreErrorKind::Permanent, StoreErrorKind::RouteMissing] {
            for policy in [Policy::RECORD, Policy::CLAIM, Policy::STEP] {
                let (result, attempts, waited) = play(policy, kind, 9).await;
                assert_eq!((result.unwrap_err().kind, attempts, waited), (kind, 1, 0));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn hurry_ends_the_wait_only() {
        let (hurry, attempts) = (CancellationToken::new(), AtomicUsize::new(0));
        let began = Instant::now();
        let run = RunId::parse("r").unwrap();
        let (failed, under_way, release) = (Notify::new(), Notify::new(), Notify::new());
        let attempt = || async {
            if attempts.fetch_add(1, Ordering::Relaxed) == 0 {
                failed.notify_one();
                return Err(StoreError {
                    kind: StoreErrorKind::Transient,
                    message: String::new(),
                });
            }
            under_way.notify_one();
            release.notified().await;
            Ok("settled")
        };
        let hurrying = async {
            failed.notified().await;
            hurry.cancel();
            under_way.notified().await;
            release.notify_one();
        };
        let (done, ()) = tokio::join!(Policy::RECORD.run_hurried(&run, &hurry, attempt), hurrying);
        assert_eq!((done, began.elapsed().as_millis()), (Ok("settled"), 0));
    }
}
