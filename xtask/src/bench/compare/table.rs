//! The table: our Worker beside its TypeScript twin, with the ratio of ours to the twin's.

use std::time::Duration;

use super::load::Slice;

/// The head of the table.
pub const HEAD: &str = "\
| | direct p50 | Rust p50 | TS p50 | ratio | Rust p99 | TS p99 | ratio | Rust req/s | TS req/s | ratio | Rust CPU | TS CPU | ratio |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

/// Returns a line of the table. The last two slices are ours and the twin's; before them may be the server asked directly.
pub fn line(name: &str, slices: &mut [Slice]) -> String {
    let p50: Vec<_> = slices.iter_mut().map(|slice| percentile(&mut slice.latencies, 0.5)).collect();
    let p99: Vec<_> = slices.iter_mut().map(|slice| percentile(&mut slice.latencies, 0.99)).collect();
    let rate: Vec<_> =
        slices.iter().map(|slice| slice.latencies.len() as f64 / slice.wall.as_secs_f64()).collect();
    let cpu = |slice: &Slice| slice.cpu / u32::try_from(slice.latencies.len().max(1)).unwrap_or(u32::MAX);
    let cpu: Vec<_> = slices.iter().map(cpu).collect();
    let [ours, twin] = [slices.len() - 2, slices.len() - 1];
    let base = if slices.len() > 2 { p50[0] } else { Duration::ZERO };
    let added = |side: usize| p50[side].saturating_sub(base).as_secs_f64();
    let seconds = |time: Duration| time.as_secs_f64();
    let cells = [
        if slices.len() > 2 { ms(base) } else { "–".to_owned() },
        format!("{} | {} | {:.2}", ms(p50[ours]), ms(p50[twin]), added(ours) / added(twin)),
        format!("{} | {} | {:.2}", ms(p99[ours]), ms(p99[twin]), seconds(p99[ours]) / seconds(p99[twin])),
        format!("{:.0} | {:.0} | {:.2}", rate[ours], rate[twin], rate[ours] / rate[twin]),
        format!("{} | {} | {:.2}", ms(cpu[ours]), ms(cpu[twin]), seconds(cpu[ours]) / seconds(cpu[twin])),
    ];
    format!("| {name} | {} |", cells.join(" | "))
}

fn percentile(latencies: &mut [Duration], share: f64) -> Duration {
    let rank = (latencies.len() as f64 * share).ceil() as usize;
    if latencies.is_empty() {
        return Duration::ZERO;
    }
    *latencies.select_nth_unstable(rank.clamp(1, latencies.len()) - 1).1
}

fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(ms: u64) -> Slice {
        let latencies = vec![Duration::from_millis(ms); 10];
        Slice {
            latencies,
            wall: Duration::from_secs(1),
            cpu: Duration::from_millis(ms * 5),
            ..Slice::default()
        }
    }

    #[test]
    fn line_compares_ours_with_the_twin() {
        let figures = "2.000 ms | 5.000 ms | 0.40 | 10 | 10 | 1.00 | 1.000 ms | 2.500 ms | 0.40 |";
        let alone = line("x", &mut [slice(2), slice(5)]);
        assert_eq!(alone, format!("| x | – | 2.000 ms | 5.000 ms | 0.40 | {figures}"));
        let added = line("x", &mut [slice(1), slice(2), slice(5)]);
        assert_eq!(added, format!("| x | 1.000 ms | 2.000 ms | 5.000 ms | 0.25 | {figures}"));
        assert_eq!(added.matches('|').count() * 2, HEAD.matches('|').count());
    }

    #[test]
    fn percentile_is_an_observed_latency() {
        let mut times: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&mut times, 0.99), Duration::from_millis(198));
        assert_eq!(percentile(&mut [], 0.5), Duration::ZERO);
    }
}
