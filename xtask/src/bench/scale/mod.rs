//! How the agent runtime scales: idle runs, runs at once, viewers, and one very long run (limits in docs/testing.md).

mod idle;
mod many;
mod rested;
mod soak;
mod viewers;
mod watched;

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

use super::aims::{Verdicts, WATCHED_BY};
use super::bot::Programs;
use super::proxy::Counts;

/// The measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Row {
    /// The cost of a turn
    Turns,
    /// Runs that wait for their model: their memory, and how soon they are accepted
    Idle,
    /// Two hundred runs at once
    Many,
    /// A run with no, a hundred and a thousand viewers
    Viewers,
    /// One run of two thousand turns with large outputs
    Soak,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Runs of each number of turns.
    pub repeats: u32,
    /// Runs that wait.
    waiting: u32,
    /// Runs at once.
    at_once: u32,
    /// Tool turns of each.
    turns_at_once: u32,
    /// Numbers of viewers.
    viewers: &'static [usize],
    /// Tool turns of the run they see.
    watched_turns: u32,
    /// Turns of the long run after which its memory is looked at.
    soak: &'static [u32],
}

impl Size {
    /// The full measurement.
    pub const FULL: Self = Self {
        repeats: u32::MAX,
        waiting: 100,
        at_once: 200,
        turns_at_once: 12,
        viewers: &[0, WATCHED_BY, 1000],
        watched_turns: 60,
        soak: &[200, 500, 1000, 2000],
    };
    /// The same aims in two minutes.
    pub const QUICK: Self = Self {
        repeats: 1,
        waiting: 30,
        at_once: 50,
        viewers: &[WATCHED_BY],
        soak: &[100, 200],
        ..Self::FULL
    };
    /// Each measurement once and as small as possible; its figures are meaningless.
    pub const SMOKE: Self = Self {
        repeats: 1,
        waiting: 2,
        at_once: 3,
        turns_at_once: 2,
        viewers: &[2],
        watched_turns: 8,
        soak: &[2, 4],
    };
}

/// Measures one thing and prints it.
type Measure = fn(&Programs, Size, &mut Verdicts) -> Result<()>;

/// Runs and prints the requested measurements.
pub fn run(
    programs: &Programs,
    size: Size,
    verdicts: &mut Verdicts,
    wants: impl Fn(Row) -> bool,
) -> Result<()> {
    let rows: [(Row, Measure); 4] = [
        (Row::Idle, idle::run),
        (Row::Many, many::run),
        (Row::Viewers, watched::run),
        (Row::Soak, soak::run),
    ];
    let mut wanted = rows.iter().filter(|(row, _)| wants(*row));
    wanted.try_for_each(|(_, measure)| measure(programs, size, verdicts))
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
