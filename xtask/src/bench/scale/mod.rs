//! How the agent runtime scales: idle runs, runs at once, viewers, and one very long run (document 2 section 8; the
//! aims stand in docs/testing.md).

mod idle;
mod many;
mod soak;
mod viewers;
mod watched;

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

use super::bot::Programs;
use super::proxy::Counts;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Row {
    /// What a turn costs
    Turns,
    /// Runs that wait for their model: their memory, and how soon they are accepted
    Idle,
    /// Two hundred runs at once
    Many,
    /// A run with nobody, a hundred and a thousand watching
    Viewers,
    /// One run of two thousand turns with large outputs
    Soak,
}

/// Measures one thing and prints it.
type Measure = fn(&Programs) -> Result<()>;

/// Measures what is wanted and prints it.
pub fn run(programs: &Programs, wants: impl Fn(Row) -> bool) -> Result<()> {
    let rows: [(Row, Measure); 4] = [
        (Row::Idle, idle::run),
        (Row::Many, many::run),
        (Row::Viewers, watched::run),
        (Row::Soak, soak::run),
    ];
    rows.iter().filter(|(row, _)| wants(*row)).try_for_each(|(_, measure)| measure(programs))
}

/// The value below which this share of them lies.
fn percentile(values: &mut [Duration], share: f64) -> Duration {
    values.sort_unstable();
    let at = (values.len().saturating_sub(1)) as f64 * share;
    values.get(at.round() as usize).copied().unwrap_or_default()
}

/// `p50 1.2 ms, p99 3.4 ms`.
fn spread(values: &mut [Duration]) -> String {
    let mut ms = |share| percentile(values, share).as_secs_f64() * 1000.0;
    format!("p50 {:.1} ms, p99 {:.1} ms", ms(0.5), ms(0.99))
}

fn mb(kb: u64) -> f64 {
    kb as f64 / 1024.0
}

/// Requests by route, most first.
fn routes(counts: &Counts) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(**count));
    counts.iter().map(|(route, count)| format!("{count} {route}")).collect::<Vec<_>>().join(", ")
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
