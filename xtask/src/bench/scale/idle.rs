//! Runs that wait for their model: how soon each is accepted, and what it holds while it waits.

use std::time::Instant;

use anyhow::Result;

use super::{mb, routes, spread};
use crate::bench::bot::{Bench, Programs};
use crate::bench::model::Script;
use crate::bench::process::resident_kb;
use crate::terminal::Step;

/// Runs before the memory is first looked at: what the process makes once is then there.
const WARM: u32 = 10;
/// Runs whose memory is measured.
const COUNTED: u32 = 100;

/// Measures and prints.
pub fn run(programs: &Programs) -> Result<()> {
    let step = Step::begin("idle runs");
    let bench = Bench::start(programs, Script { turns: 1, holds: true, ..Script::default() })?;
    let empty = resident_kb(bench.pid())?;
    let mut accepted = Vec::new();
    let mut warm = 0;
    for mark in 0..WARM + COUNTED {
        if mark == WARM {
            warm = resident_kb(bench.pid())?;
            accepted.clear();
        }
        let began = Instant::now();
        bench.begin(&format!("idle{mark}"))?;
        accepted.push(began.elapsed());
        // Its tool turn, and the call that it waits in.
        bench.model.calls(2)?;
    }
    let full = resident_kb(bench.pid())?;
    step.done("");
    println!("\nRequest to 202, coding agent: {}", spread(&mut accepted));
    println!(
        "Memory: {:.1} MB without runs, {:.2} MB for each of {COUNTED} runs that wait after one tool turn",
        mb(empty),
        mb(full.saturating_sub(warm)) / f64::from(COUNTED)
    );
    println!("Requests to the state Worker: {}", routes(&bench.counts()));
    Ok(())
}
