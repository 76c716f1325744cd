//! How long the buttons can be pressed.

use ars_types::UnixMillis;

use crate::Ts;

/// Age of the buttons from which a press has no effect.
pub const CONFIRM_MAX_AGE_MS: i64 = 15 * 60 * 1000;

/// Returns whether buttons that were posted at `posted` have expired.
pub fn is_expired(posted: Ts, now: UnixMillis) -> bool {
    now.saturating_sub(posted.millis()) > CONFIRM_MAX_AGE_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buttons_expire_after_a_quarter_of_an_hour() {
        let posted = Ts::from_millis(1_000);
        assert!(!is_expired(posted, 1_000 + CONFIRM_MAX_AGE_MS));
        assert!(is_expired(posted, 1_001 + CONFIRM_MAX_AGE_MS));
        // A clock that lags expires nothing.
        assert!(!is_expired(posted, 0));
    }
}
