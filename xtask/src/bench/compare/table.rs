//! The table: our Worker beside the TypeScript twin, with the ratio between them.

use std::time::Duration;

use super::Slice;

/// The table's head.
pub const HEAD: &str = "\
| | direct p50 | Rust p50 | TS p50 | ratio | Rust p99 | TS p99 | ratio | Rust req/s | TS req/s | ratio | Rust CPU | TS CPU | ratio |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

/// Returns a table line. The last two slices are ours and the twin's; before them may be the server
/// asked directly.
pub fn line(name: &str, slices: &mut [Slice]) -> String {
    let ours = slices.len() - 2;
    let base = if ours > 0 {
        percentile(&mut slices[0].latencies, 0.5)
    } else {
        0.0
    };
    let mut cells = vec![if ours > 0 { ms(base) } else { "–".to_owned() }];
    let mut pair =
        |figure: &mut dyn FnMut(&mut Slice) -> f64, unit: fn(f64) -> String, less: f64| {
            let [ours, twin] = [ours, ours + 1].map(|side| figure(&mut slices[side]));
            let ratio = (ours - less).max(0.0) / (twin - less).max(0.0);
            cells.push(format!("{} | {} | {ratio:.2}", unit(ours), unit(twin)));
        };
    pair(&mut |slice| percentile(&mut slice.latencies, 0.5), ms, base);
    pair(&mut |slice| percentile(&mut slice.latencies, 0.99), ms, 0.0);
    let rate = |slice: &mut Slice| slice.latencies.len() as f64 / slice.wall.as_secs_f64();
    pair(&mut { rate }, |rate| format!("{rate:.0}"), 0.0);
    pair(
        &mut |slice| slice.cpu.as_secs_f64() / slice.latencies.len().max(1) as f64,
        ms,
        0.0,
    );
    format!("| {name} | {} |", cells.join(" | "))
}

/// Returns an observed latency in seconds.
fn percentile(latencies: &mut [Duration], share: f64) -> f64 {
    let rank = (latencies.len() as f64 * share).ceil() as usize;
    if latencies.is_empty() {
        return 0.0;
    }
    latencies
        .select_nth_unstable(rank.clamp(1, latencies.len()) - 1)
        .1
        .as_secs_f64()
}

fn ms(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_compares_ours_with_the_twin() {
        let slice = |ms: u64| Slice {
            latencies: vec![Duration::from_millis(ms); 10],
            wall: Duration::from_secs(1),
            cpu: Duration::from_millis(ms * 5),
            ..Slice::default()
        };
        let figures = "2.000 ms | 5.000 ms | 0.40 | 10 | 10 | 1.00 | 1.000 ms | 2.500 ms | 0.40 |";
        let alone = line("x", &mut [slice(2), slice(5)]);
        assert_eq!(
            alone,
            format!("| x | – | 2.000 ms | 5.000 ms | 0.40 | {figures}")
        );
        let added = line("x", &mut [slice(1), slice(2), slice(5)]);
        assert_eq!(
            added,
            format!("| x | 1.000 ms | 2.000 ms | 5.000 ms | 0.25 | {figures}")
        );
    }
}
