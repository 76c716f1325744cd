//! The table.

use std::time::Duration;

use super::contest::Measurement;
use crate::bench::load::{ms, percentile, ratio};

/// Its head.
pub const HEAD: &str = "\
| | direct p50 | Rust p50 | TS p50 | Rust adds | TS adds | ratio | direct p99 | Rust p99 | TS p99 | ratio | Rust CPU | TS CPU | ratio |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

/// One line of it. Ratios are Rust to TypeScript.
pub fn line(name: &str, mut measured: Measurement) -> String {
    let mut latency = |share| measured.each_mut().map(|slice| percentile(&mut slice.latencies, share));
    let (p50, p99) = (latency(0.5), latency(0.99));
    let [direct, through @ ..] = p50;
    let added = through.map(|time: Duration| time.saturating_sub(direct));
    let cpu = [measured[1].cpu_each(), measured[2].cpu_each()];
    let cells = [
        p50.map(ms).join(" | "),
        added.map(ms).join(" | "),
        format!("{:.2}", ratio(added)),
        p99.map(ms).join(" | "),
        format!("{:.2}", ratio([p99[1], p99[2]])),
        cpu.map(ms).join(" | "),
        format!("{:.2}", ratio(cpu)),
    ];
    format!("| {name} | {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::load::Slice;

    #[test]
    fn what_the_path_adds_is_told_for_each_side_and_compared() {
        let slice = |ms| Slice {
            latencies: vec![Duration::from_millis(ms); 10],
            cpu: Duration::from_millis(ms * 5),
            ..Slice::default()
        };
        assert_eq!(
            line("x", [slice(1), slice(2), slice(5)]),
            "| x | 1.000 ms | 2.000 ms | 5.000 ms | 1.000 ms | 4.000 ms | 0.25 | 1.000 ms | 2.000 ms | 5.000 ms | 0.40 \
             | 1.000 ms | 2.500 ms | 0.40 |"
        );
        assert_eq!(
            line("x", [slice(1), slice(2), slice(5)]).matches('|').count() * 2,
            HEAD.matches('|').count()
        );
    }
}
