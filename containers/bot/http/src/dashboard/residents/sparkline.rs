//! Attach durations: two percentiles and a line.

use std::fmt::Write as _;

/// Horizontal distance between two points.
const STEP: usize = 10;
/// Height of the line's area.
const HEIGHT: i64 = 40;
/// Space above and below the line.
const MARGIN: i64 = 3;

/// Durations as a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sparkline {
    /// Median duration, as text.
    pub(super) p50: String,
    /// 95th percentile, as text.
    pub(super) p95: String,
    /// Longest duration, as text.
    pub(super) max: String,
    /// How many attaches were measured.
    pub(super) count: usize,
    /// The line's points, oldest first.
    pub(super) points: String,
    /// Width of the line's area.
    pub(super) width: usize,
    /// Height at the 95th percentile.
    pub(super) p95_y: i64,
}

impl Sparkline {
    /// Returns the line for durations, newest first. There is none without a duration.
    pub(super) fn from_durations(newest_first: &[i64]) -> Option<Self> {
        let mut sorted = newest_first.to_vec();
        sorted.sort_unstable();
        let max = *sorted.last()?;
        let y =
            |ms: i64| HEIGHT - MARGIN - ms.max(0).saturating_mul(HEIGHT - 2 * MARGIN) / max.max(1);
        let mut points = String::new();
        for (at, ms) in newest_first.iter().rev().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(points, "{},{} ", at * STEP, y(*ms));
        }
        if let [only] = newest_first {
            let _ = write!(points, "{STEP},{}", y(*only));
        }
        let p95 = percentile(&sorted, 95);
        Some(Self {
            p50: time(percentile(&sorted, 50)),
            p95: time(p95),
            max: time(max),
            count: sorted.len(),
            points: points.trim_end().to_owned(),
            width: (newest_first.len() - 1).max(1) * STEP,
            p95_y: y(p95),
        })
    }
}

/// Returns the nearest-rank percentile in sorted durations; there is at least one duration.
fn percentile(sorted: &[i64], percent: usize) -> i64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// Returns a duration such as `120 ms` or `1.3 s`.
pub(super) fn time(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{} ms", ms.max(0)),
        _ => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_the_nearest_rank() {
        assert_eq!(Sparkline::from_durations(&[]), None);
        let newest_first: Vec<i64> = (1..=100).rev().map(|n| n * 20).collect();
        let line = Sparkline::from_durations(&newest_first).unwrap();
        assert_eq!(
            (&*line.p50, &*line.p95, &*line.max, line.count),
            ("1.0 s", "1.9 s", "2.0 s", 100)
        );
        assert!(
            line.points.starts_with("0,37 10,") && line.points.ends_with("990,3"),
            "{}",
            line.points
        );
        assert_eq!(
            Sparkline::from_durations(&[120]).unwrap().points,
            "0,3 10,3"
        );
    }
}
