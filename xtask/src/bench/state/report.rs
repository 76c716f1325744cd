//! The table.

use std::time::Duration;

use crate::bench::load::{Slice, ms, percentile, ratio};

/// A row of load as it was measured: ours, then the twin's, and the floor's latencies where there is one.
pub struct Measurement {
    /// The row.
    pub name: String,
    /// Ours and the twin's, slice by slice.
    pub pairs: Vec<[Slice; 2]>,
    /// The same work on rusqlite in process.
    pub floor: Option<Vec<Duration>>,
}

/// The head of the table.
pub const HEAD: &str = "\
| | Rust req/s | TS req/s | ratio | Rust p50 | TS p50 | Rust p99 | TS p99 | ratio | Rust CPU | TS CPU | ratio | rusqlite p50 |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

/// One line of the table. Ratios are Rust to TypeScript; of rates the median of the pairs', so that a slice which
/// something else disturbed does not decide.
pub fn line(measurement: &Measurement) -> String {
    let [mut ours, mut theirs] = [Slice::default(), Slice::default()];
    for [our, their] in &measurement.pairs {
        ours.add(our.clone());
        theirs.add(their.clone());
    }
    let rate = median(measurement.pairs.iter().map(|[ours, theirs]| ours.rate() / theirs.rate()).collect());
    let [p50, p99] = [0.5, 0.99]
        .map(|share| [percentile(&mut ours.latencies, share), percentile(&mut theirs.latencies, share)]);
    let cpu = [ours.cpu_each(), theirs.cpu_each()];
    let floor = measurement.floor.clone().map(|mut floor| ms(percentile(&mut floor, 0.5)));
    format!(
        "| {} | {:.0} | {:.0} | {rate:.2} | {} | {} | {} | {} | {:.2} | {} | {} | {:.2} | {} |",
        measurement.name,
        ours.rate(),
        theirs.rate(),
        ms(p50[0]),
        ms(p50[1]),
        ms(p99[0]),
        ms(p99[1]),
        ratio(p99),
        ms(cpu[0]),
        ms(cpu[1]),
        ratio(cpu),
        floor.unwrap_or_else(|| "–".to_owned()),
    )
}

/// The head of the table of what is no load.
pub const WHOLE_HEAD: &str = "| | Rust | TypeScript | ratio |\n|---|--:|--:|--:|";

/// What is told of each Worker as a whole, beside load.
pub struct WholeLine {
    /// What it is.
    pub name: String,
    /// Of ours, then of the twin.
    pub values: [f64; 2],
    /// What they are in.
    pub unit: &'static str,
}

/// One line of the table of what is no load.
pub fn whole_line(WholeLine { name, values: [ours, theirs], unit }: &WholeLine) -> String {
    format!("| {name} | {ours:.1} {unit} | {theirs:.1} {unit} | {:.2} |", ours / theirs)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 0 => f64::midpoint(values[count / 2 - 1], values[count / 2]),
        count => values[count / 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_compares_rates_latencies_and_cpu() {
        let slice = |ms: u64, count: usize| Slice {
            latencies: vec![Duration::from_millis(ms); count],
            wall: Duration::from_secs(1),
            cpu: Duration::from_millis(ms * count as u64),
            ..Slice::default()
        };
        let pairs = vec![[slice(2, 500), slice(4, 250)], [slice(2, 500), slice(4, 250)]];
        let line =
            line(&Measurement { name: "get".into(), pairs, floor: Some(vec![Duration::from_millis(1)]) });
        assert_eq!(
            line,
            "| get | 500 | 250 | 2.00 | 2.000 ms | 4.000 ms | 2.000 ms | 4.000 ms | 0.50 | 2.000 ms | 4.000 ms \
             | 0.50 | 1.000 ms |"
        );
    }

    #[test]
    fn one_disturbed_pair_does_not_decide() {
        assert_eq!(median(vec![1.0, 9.0, 1.1]), 1.1);
        assert_eq!(median(vec![1.0, 2.0]), 1.5);
    }
}
