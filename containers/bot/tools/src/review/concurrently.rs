//! A reading diff made concurrently with the review, which it never delays.

use std::{pin::pin, time::Duration};

use tokio::time::timeout;

/// Grace period for an unfinished diff once the answer is ready. Git needs milliseconds unless
/// something is wrong.
const GRACE: Duration = Duration::from_secs(3);

/// Runs both concurrently.
/// After work that `wants` it the reading has a grace period; otherwise it is dropped.
pub async fn concurrently<W, R>(
    work: impl Future<Output = W>,
    reading: impl Future<Output = Option<R>>,
    wants: impl FnOnce(&W) -> bool,
) -> (W, Option<R>) {
    let (mut work, mut reading) = (pin!(work), pin!(reading));
    let done = tokio::select! {
        biased;
        read = &mut reading => return (work.await, read),
        done = &mut work => done,
    };
    if !wants(&done) {
        return (done, None);
    }
    let read = timeout(GRACE, reading).await.unwrap_or_else(|_elapsed| {
        tracing::warn!("no reading diff: git was not done when the review was");
        None
    });
    (done, read)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn hanging_diff_delays_only_answers() {
        for (wants, waited) in [(true, GRACE), (false, Duration::ZERO)] {
            let began = Instant::now();
            let (work, read) = concurrently(ready(1), pending::<Option<()>>(), |_| wants).await;
            assert_eq!((work, read, began.elapsed()), (1, None, waited));
        }
    }

    async fn turns(count: usize) {
        for _ in 0..count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn diff_within_the_grace_period_is_returned() {
        for (work_turns, reading_turns) in [(9, 1), (1, 9)] {
            let work = turns(work_turns);
            let reading = async {
                turns(reading_turns).await;
                Some("diff")
            };
            assert_eq!(concurrently(work, reading, |()| true).await.1, Some("diff"));
        }
    }
}
