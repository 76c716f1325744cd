//! When a run's follower tries again after it lost the service.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::terminal;

/// Longest time without the service, or without a new event on a stream that breaks repeatedly.
/// Restarting a deployment is shorter.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(300);
/// Wait before the first attempt. It doubles with each further attempt.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(250);
/// Greatest wait between two attempts.
const MAX_RECONNECT_INTERVAL: Duration = Duration::from_secs(10);

/// Attempts during a single outage.
#[derive(Default)]
pub(super) struct Reconnect {
    began: Option<Instant>,
    interval: Duration,
}

impl Reconnect {
    /// Waits before the next attempt. Returns `false` at once if the outage would last too long.
    pub(super) async fn wait(&mut self) -> bool {
        let began = *self.began.get_or_insert_with(|| {
            let minutes = RECONNECT_TIMEOUT.as_secs() / 60;
            terminal::tell(&format!(
                "connection lost: trying again for up to {minutes} minutes"
            ));
            Instant::now()
        });
        self.interval = (self.interval * 2).clamp(RECONNECT_INTERVAL, MAX_RECONNECT_INTERVAL);
        if began.elapsed() + self.interval > RECONNECT_TIMEOUT {
            return false;
        }
        sleep(self.interval).await;
        true
    }

    /// Ends the outage, if there is any.
    pub(super) fn succeeded(&mut self) {
        if self.began.is_some() {
            terminal::tell("connected again");
        }
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_double_until_the_timeout() {
        let mut reconnect = Reconnect::default();
        let (began, mut waits) = (Instant::now(), Vec::new());
        loop {
            let before = Instant::now();
            if !reconnect.wait().await {
                break;
            }
            waits.push(before.elapsed().as_millis());
        }
        assert_eq!(
            waits[..8],
            [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]
        );
        assert_eq!(waits.iter().max(), Some(&10_000));
        let lasted = began.elapsed();
        assert!(
            lasted <= RECONNECT_TIMEOUT && lasted + MAX_RECONNECT_INTERVAL > RECONNECT_TIMEOUT,
            "{lasted:?}"
        );
        reconnect.succeeded();
        let again = Instant::now();
        assert!(reconnect.wait().await);
        assert_eq!(again.elapsed(), RECONNECT_INTERVAL);
    }
}
