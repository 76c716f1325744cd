//! Times as text.

use ars_types::UnixMillis;

/// Returns ISO 8601 in UTC with milliseconds, or the number itself beyond the calendar's range.
pub fn iso(at: UnixMillis) -> String {
    match jiff::Timestamp::from_millisecond(at) {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        Err(_) => at.to_string(),
    }
}

/// Parses an RFC 3339 time.
pub fn parsed(text: &str) -> Option<UnixMillis> {
    text.parse::<jiff::Timestamp>()
        .ok()
        .map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_iso_with_milliseconds() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(1_700_000_000_120), "2023-11-14T22:13:20.120Z");
        assert_eq!(iso(i64::MAX), i64::MAX.to_string());
        assert_eq!(
            (parsed("2023-11-14T22:13:20Z"), parsed("soon")),
            (Some(1_700_000_000_000), None)
        );
    }
}
