//! Times as text.

use ars_types::UnixMillis;

/// Returns ISO 8601 in UTC with milliseconds, or the number itself beyond the calendar's range.
pub(crate) fn iso(at: UnixMillis) -> String {
    match jiff::Timestamp::from_millisecond(at) {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        Err(_) => at.to_string(),
    }
}

/// Returns a duration such as `0s`, `4m 12s` or `1h 03m`.
pub(crate) fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_iso_with_milliseconds() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(1_700_000_000_120), "2023-11-14T22:13:20.120Z");
        assert_eq!(iso(i64::MAX), i64::MAX.to_string());
    }

    #[test]
    fn durations_read_like_a_clock() {
        for (ms, text) in
            [(-5, "0s"), (999, "0s"), (61_000, "1m 01s"), (252_000, "4m 12s"), (3_780_000, "1h 03m")]
        {
            assert_eq!(duration(ms), text);
        }
    }
}
