//! Runs that wait for their model: how long until each is accepted, and the memory they use.

use std::time::Instant;

use anyhow::Result;

use super::Size;
use super::figures::{mb, percentile, routes, spread};
use crate::bench::aims::{PER_IDLE_RUN, TO_ACCEPTED, Verdicts};
use crate::bench::bot::{Bench, Programs};
use crate::bench::model::Script;
use crate::bench::process::resident_kb;
use crate::terminal::Step;

/// Runs before the first look at the memory, so that one-time allocations are not counted.
const WARM: u32 = 10;

/// Measures and prints idle runs.
pub fn run(programs: &Programs, size: Size, verdicts: &mut Verdicts) -> Result<()> {
    let step = Step::begin("idle runs");
    let bench = Bench::start(
        programs,
        Script {
            turns: 1,
            holds: true,
            ..Script::default()
        },
    )?;
    let empty = resident_kb(bench.pid())?;
    let mut accepted = Vec::new();
    let mut warm = 0;
    for mark in 0..WARM + size.waiting {
        if mark == WARM {
            warm = resident_kb(bench.pid())?;
            accepted.clear();
        }
        let began = Instant::now();
        bench.begin(&format!("idle{mark}"))?;
        accepted.push(began.elapsed());
        // The tool turn, and the call that it waits in.
        bench.model.calls(2)?;
    }
    let full = resident_kb(bench.pid())?;
    step.done("");
    let each = mb(full.saturating_sub(warm)) / f64::from(size.waiting);
    println!("\nRequest to 202, coding agent: {}", spread(&mut accepted));
    println!(
        "Memory: {:.1} MB without runs, {each:.2} MB for each of {} runs that wait after one tool turn",
        mb(empty),
        size.waiting,
    );
    let accepted_ms = percentile(&mut accepted, 0.5).as_secs_f64() * 1000.0;
    println!("{}", verdicts.hold(TO_ACCEPTED, "", accepted_ms));
    println!("{}", verdicts.hold(PER_IDLE_RUN, "", each));
    println!("Requests to the state Worker: {}", routes(&bench.counts()?));
    Ok(())
}
