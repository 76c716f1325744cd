//! Time intervals and their unions.

use serde::{Deserialize, Serialize};

use crate::work;

/// Largest valid time: a JavaScript date's last millisecond (ECMAScript 21.4.1.1). Within it no
/// difference and no sum of differences in a window overflows.
pub(crate) const MAX_TIME: i64 = 8_640_000_000_000_000;

/// An interval in epoch milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Start in Unix milliseconds.
    pub start: i64,
    /// End in Unix milliseconds.
    pub end: i64,
}

impl Interval {
    /// Returns the length in milliseconds.
    pub const fn ms(self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns the interval between two times if they are in order.
    pub(crate) fn between(start: Option<i64>, end: Option<i64>) -> Option<Self> {
        start
            .zip(end)
            .filter(|(start, end)| start <= end)
            .map(|(start, end)| Self { start, end })
    }

    /// Returns the interval for a duration; a negative duration is zero.
    pub(crate) fn lasting(start: i64, ms: i64) -> Self {
        Self {
            start,
            end: start.saturating_add(ms.max(0)).min(MAX_TIME),
        }
    }

    /// Orders the ends and clamps them to valid times.
    pub(crate) fn sane(self) -> Self {
        let start = self.start.clamp(-MAX_TIME, MAX_TIME);
        Self {
            start,
            end: self.end.clamp(start, MAX_TIME),
        }
    }

    /// Returns the part inside a window; empty if they do not overlap.
    pub(crate) fn within(self, window: Self) -> Self {
        let start = self.start.clamp(window.start, window.end);
        Self {
            start,
            end: self.end.clamp(start, window.end),
        }
    }
}

/// Returns the union as disjoint intervals in order.
pub(crate) fn merge(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_by_key(|interval| interval.start);
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len());
    for interval in intervals {
        work::step();
        match merged.last_mut() {
            Some(last) if interval.start <= last.end => last.end = last.end.max(interval.end),
            _ => merged.push(interval),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn union_counts_shared_time_once() {
        let of = |pairs: &[(i64, i64)]| {
            let intervals = pairs
                .iter()
                .map(|&(start, end)| Interval { start, end })
                .collect();
            merge(intervals)
                .into_iter()
                .map(|union| (union.start, union.end))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of(&[(5, 9), (0, 3), (2, 4), (4, 4), (6, 7)]),
            [(0, 4), (5, 9)]
        );
        assert_eq!(of(&[]), []);
    }

    #[test]
    fn invalid_window_is_clamped() {
        let sane = Interval {
            start: i64::MIN,
            end: i64::MAX,
        }
        .sane();
        assert_eq!(sane.ms(), 2 * MAX_TIME);
        assert_eq!(
            Interval { start: 9, end: 3 }.sane(),
            Interval { start: 9, end: 9 }
        );
    }
}
