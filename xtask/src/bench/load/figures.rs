//! Figures of tables.

use std::time::Duration;

/// The latency that a share of the requests stays within.
pub fn percentile(latencies: &mut [Duration], share: f64) -> Duration {
    if latencies.is_empty() {
        return Duration::ZERO;
    }
    let rank = (latencies.len() as f64 * share).ceil() as usize;
    *latencies.select_nth_unstable(rank.clamp(1, latencies.len()) - 1).1
}

/// Milliseconds, to the microsecond.
pub fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}

/// The first to the second.
pub fn ratio([first, second]: [Duration; 2]) -> f64 {
    first.as_secs_f64() / second.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_latency_that_was_seen() {
        let mut times: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&mut times, 0.5), Duration::from_millis(100));
        assert_eq!(percentile(&mut times, 0.99), Duration::from_millis(198));
        assert_eq!(percentile(&mut [], 0.5), Duration::ZERO);
    }
}
