//! Stretches of time and their unions.

use serde::{Deserialize, Serialize};

use crate::work;

/// The last millisecond a JavaScript date can name (ECMAScript 21.4.1.1). What lies beyond is garbage, not a time;
/// within it no difference and no sum of differences of one window can overflow.
pub(crate) const MAX_TIME: i64 = 8_640_000_000_000_000;

/// A stretch of time, in epoch milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// From.
    pub start: i64,
    /// To.
    pub end: i64,
}

impl Interval {
    /// Its length in milliseconds.
    pub const fn ms(self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// From one time to another, when they are in order.
    pub(crate) fn between(start: Option<i64>, end: Option<i64>) -> Option<Self> {
        start.zip(end).filter(|(start, end)| start <= end).map(|(start, end)| Self { start, end })
    }

    /// From a time on, for as long as a duration; a negative one is none.
    pub(crate) fn lasting(start: i64, ms: i64) -> Self {
        Self { start, end: start.saturating_add(ms.max(0)).min(MAX_TIME) }
    }

    /// A caller's interval with its ends in order and within what a time can be.
    pub(crate) fn sane(self) -> Self {
        let start = self.start.clamp(-MAX_TIME, MAX_TIME);
        Self { start, end: self.end.clamp(start, MAX_TIME) }
    }

    /// The part of it inside a window; empty when they do not meet.
    pub(crate) fn within(self, window: Self) -> Self {
        let start = self.start.clamp(window.start, window.end);
        Self { start, end: self.end.clamp(start, window.end) }
    }
}

/// The union of intervals, as disjoint ones in order.
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
    fn a_union_counts_shared_time_once() {
        let of = |pairs: &[(i64, i64)]| {
            let intervals = pairs.iter().map(|&(start, end)| Interval { start, end }).collect();
            merge(intervals).into_iter().map(|union| (union.start, union.end)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[(5, 9), (0, 3), (2, 4), (4, 4), (6, 7)]), [(0, 4), (5, 9)]);
        assert_eq!(of(&[]), []);
    }

    #[test]
    fn a_hostile_window_is_made_sane() {
        let sane = Interval { start: i64::MIN, end: i64::MAX }.sane();
        assert_eq!(sane.ms(), 2 * MAX_TIME);
        assert_eq!(Interval { start: 9, end: 3 }.sane(), Interval { start: 9, end: 9 });
    }
}
