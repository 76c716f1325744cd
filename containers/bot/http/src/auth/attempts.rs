//! The limit of failed sign-ins. It is shared by all clients, because behind a proxy their addresses are not known.

use std::sync::{Mutex, PoisonError};

use ars_types::UnixMillis;

/// Failed sign-ins of a window after which sign-ins are rejected.
const FAILED_SIGN_INS_MAX: u32 = 10;
/// Length of a window.
const SIGN_IN_WINDOW_MS: UnixMillis = 60_000;

/// The attempts of the current window.
#[derive(Default)]
pub(crate) struct SignInAttempts(Mutex<Window>);

#[derive(Default)]
struct Window {
    began_at: UnixMillis,
    failed: u32,
}

impl SignInAttempts {
    /// Counts an attempt as failed, before its secret is compared. Returns the seconds to wait if there were too many.
    pub(crate) fn begin(&self, now: UnixMillis) -> Result<(), UnixMillis> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back begins a window too.
        if !(0..SIGN_IN_WINDOW_MS).contains(&now.saturating_sub(window.began_at)) {
            *window = Window { began_at: now, failed: 0 };
        }
        if window.failed >= FAILED_SIGN_INS_MAX {
            let left = window.began_at.saturating_add(SIGN_IN_WINDOW_MS).saturating_sub(now);
            return Err(left.saturating_add(999).div_euclid(1_000));
        }
        window.failed += 1;
        Ok(())
    }

    /// Takes back the last count: the attempt succeeded.
    pub(crate) fn succeeded(&self) {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        window.failed = window.failed.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = 1_760_000_000_000;

    #[test]
    fn failures_of_a_window_are_limited() {
        let attempts = SignInAttempts::default();
        for _ in 0..FAILED_SIGN_INS_MAX {
            assert_eq!(attempts.begin(NOW), Ok(()));
        }
        assert_eq!(attempts.begin(NOW + 59_500), Err(1));
        assert_eq!(attempts.begin(NOW + SIGN_IN_WINDOW_MS), Ok(()));
    }

    #[test]
    fn successes_are_not_counted() {
        let attempts = SignInAttempts::default();
        for _ in 0..3 * FAILED_SIGN_INS_MAX {
            assert_eq!(attempts.begin(NOW), Ok(()));
            attempts.succeeded();
        }
    }
}
