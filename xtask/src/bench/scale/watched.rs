//! A run with no, a hundred and a thousand viewers: the events' age and the costs.
//!
//! The age is that on arrival; the costs are the run's and the process's.

use std::time::Duration;

use anyhow::Result;

use super::Size;
use super::figures::{mb, percentile, spread};
use super::viewers::Viewers;
use crate::bench::aims::{EVENT_AGE, Verdicts, WATCHED_BY};
use crate::bench::bot::{Bench, Programs};
use crate::bench::model::Script;
use crate::bench::process::{Usage, peak_kb};
use crate::terminal::Step;

/// All viewers are there before this share of the turns.
const JOINED: usize = 3;
/// Pause before each response event: a turn takes about a quarter of a second, as the fastest
/// models do.
const PAUSE: Duration = Duration::from_millis(30);

/// Measures and prints watched runs.
pub fn run(programs: &Programs, size: Size, verdicts: &mut Verdicts) -> Result<()> {
    println!();
    for &count in size.viewers {
        let step = Step::begin(&format!("{count} viewers"));
        let (line, p99_ms) = measure(programs, count, size.watched_turns)?;
        step.done("");
        println!("{line}");
        if count == WATCHED_BY {
            println!(
                "{}",
                verdicts.hold(EVENT_AGE, &format!(" with {count} viewers"), p99_ms)
            );
        }
    }
    println!("Events carry milliseconds, so that an age is up to one too long.");
    Ok(())
}

/// Returns a line, and the p99 event age in milliseconds.
fn measure(programs: &Programs, count: usize, turns: u32) -> Result<(String, f64)> {
    let bench = Bench::start(
        programs,
        Script {
            turns,
            pause: PAUSE,
            ..Script::default()
        },
    )?;
    let run = bench.begin("watched")?;
    bench.model.calls(1)?;
    let before = Usage::read(bench.pid())?;
    let viewers = Viewers::watch(&bench.events(&run)?, count)?;
    let calls = bench.model.arrivals(turns)?;
    let mut between: Vec<_> = calls[calls.len() / JOINED..]
        .windows(2)
        .map(|pair| pair[1].duration_since(pair[0]))
        .collect();
    let used = Usage::read(bench.pid())?.since(before);
    bench.recorded()?;
    let mut ages = viewers.ages()?;
    let line = format!(
        "{count} viewers: turn {}; {} events came, age {}; own CPU/turn {:.2} ms, peak {:.1} MB",
        spread(&mut between),
        ages.len(),
        spread(&mut ages),
        used.own.as_secs_f64() * 1000.0 / f64::from(turns),
        mb(peak_kb(bench.pid())?),
    );
    Ok((line, percentile(&mut ages, 0.99).as_secs_f64() * 1000.0))
}
