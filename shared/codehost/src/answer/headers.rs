//! The limits that a response's headers state.

use ars_types::UnixMillis;

/// Milliseconds in a second.
const SECOND: i64 = 1_000;

/// The headers that concern limits, parsed. Malformed values count as absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// `retry-after`, in seconds.
    pub retry_after_s: Option<i64>,
    /// The `x-ratelimit-remaining` header value.
    pub remaining: Option<i64>,
    /// `x-ratelimit-reset` in seconds since the Unix epoch.
    pub reset_s: Option<i64>,
}

impl Limits {
    /// Parses the headers. `header` returns the value for a lower-case name.
    pub fn parse<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Self {
        let number = |name: &str| {
            header(name)?
                .trim()
                .parse::<i64>()
                .ok()
                .filter(|value| *value >= 0)
        };
        Self {
            retry_after_s: number("retry-after"),
            remaining: number("x-ratelimit-remaining"),
            reset_s: number("x-ratelimit-reset"),
        }
    }

    /// Returns the time until the primary limit is reset.
    pub(super) fn until_reset_ms(self, now: UnixMillis) -> Option<i64> {
        self.reset_s
            .map(|reset| reset.saturating_mul(SECOND).saturating_sub(now).max(0))
    }

    /// Returns the time that the host asks to wait.
    pub(super) fn retry_after_ms(self) -> Option<i64> {
        self.retry_after_s
            .map(|seconds| seconds.saturating_mul(SECOND))
    }
}
