//! Figures as they are printed.

use std::time::Duration;

use crate::bench::bot::Counts;

/// Returns the value below which this share lies.
pub fn percentile(values: &mut [Duration], share: f64) -> Duration {
    values.sort_unstable();
    let at = (values.len().saturating_sub(1)) as f64 * share;
    values.get(at.round() as usize).copied().unwrap_or_default()
}

/// `p50 1.2 ms, p99 3.4 ms`.
pub fn spread(values: &mut [Duration]) -> String {
    let mut ms = |share| percentile(values, share).as_secs_f64() * 1000.0;
    format!("p50 {:.1} ms, p99 {:.1} ms", ms(0.5), ms(0.99))
}

/// Converts kilobytes to megabytes.
pub fn mb(kb: u64) -> f64 {
    kb as f64 / 1024.0
}

/// Requests by route, most first.
pub fn routes(counts: &Counts) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(**count));
    counts
        .iter()
        .map(|(route, count)| format!("{count} {route}"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_of_the_sorted_values() {
        let mut values: Vec<_> = (0..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(spread(&mut values), "p50 50.0 ms, p99 99.0 ms");
        assert_eq!(percentile(&mut [], 0.5), Duration::ZERO);
    }

    #[test]
    fn the_busiest_route_stands_first() {
        let counts = Counts::from([("/a".to_owned(), 1), ("/b".to_owned(), 3)]);
        assert_eq!(routes(&counts), "3 /b, 1 /a");
    }
}
