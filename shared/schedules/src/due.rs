//! Finds when a due schedule fires.

use ars_types::UnixMillis;

use crate::Cron;

/// Maximum firing delay: an older firing is skipped, for example when the machine was off.
pub const MAX_FIRING_DELAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Returns the time of the newest due firing, later than the last firing and at most a day ago.
pub fn due(cron: &Cron, last: Option<UnixMillis>, now: UnixMillis) -> Option<UnixMillis> {
    let oldest = now.saturating_sub(MAX_FIRING_DELAY_MS);
    let mut from = last.map_or(oldest, |last| last.max(oldest));
    let mut newest = None;
    while let Some(at) = cron.next_after(from).filter(|at| *at <= now) {
        newest = Some(at);
        from = at;
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Monday, 5 January 2026, 14:00 UTC.
    const MONDAY: UnixMillis = 1_767_621_600_000;
    const MINUTE: i64 = 60_000;
    const DAY: i64 = 24 * 60 * MINUTE;

    #[test]
    fn weekly_firing_is_due_once() {
        let cron = Cron::parse("0 14 * * 1").unwrap();
        for (last, now, expected) in [
            (None, MONDAY - 1, None),
            (None, MONDAY, Some(MONDAY)),
            (None, MONDAY + DAY - 1, Some(MONDAY)),
            (None, MONDAY + DAY, None),
            (Some(MONDAY - 7 * DAY), MONDAY + MINUTE, Some(MONDAY)),
            (Some(MONDAY), MONDAY + MINUTE, None),
            (Some(MONDAY + 5), MONDAY + MINUTE, None),
            (Some(MONDAY), MONDAY + 7 * DAY, Some(MONDAY + 7 * DAY)),
            (Some(MONDAY + 7 * DAY), MONDAY, None),
        ] {
            assert_eq!(due(&cron, last, now), expected, "{last:?} {now}");
        }
    }

    #[test]
    fn missed_firings_are_one() {
        let cron = Cron::parse("* * * * *").unwrap();
        assert_eq!(due(&cron, Some(MONDAY - DAY), MONDAY + 5), Some(MONDAY));
    }
}
