//! Two hundred runs at once in one process, each with a model that takes its time, beside one run alone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{mb, routes, spread};
use crate::bench::bot::{Bench, Programs};
use crate::bench::model::Script;
use crate::bench::process::{Usage, peak_kb, resident_kb};
use crate::terminal::Step;

/// Runs at once.
const RUNS: u32 = 200;
/// Tool turns of each.
const TURNS: u32 = 12;
/// Before each event of an answer: a turn of a run takes about two seconds, a hundred a second arrive together.
const PAUSE: Duration = Duration::from_millis(300);

/// Measures and prints.
pub fn run(programs: &Programs) -> Result<()> {
    println!();
    for runs in [1, RUNS] {
        let step = Step::begin(&format!("{runs} runs at once"));
        let line = measure(programs, runs)?;
        step.done("");
        println!("{line}");
    }
    println!(
        "A turn's time is from one call of its model to the next, of which the model's pauses are the most."
    );
    Ok(())
}

fn measure(programs: &Programs, runs: u32) -> Result<String> {
    let bench = Bench::start(programs, Script { turns: TURNS, pause: PAUSE, ..Script::default() })?;
    let empty = resident_kb(bench.pid())?;
    let before = Usage::of(bench.pid())?;
    let began = Instant::now();
    for mark in 0..runs {
        bench.begin(&format!("many{mark}"))?;
    }
    let mut last = HashMap::new();
    let mut turns = Vec::new();
    for call in bench.model.calls(runs * (TURNS + 1))? {
        if let Some(earlier) = last.insert(call.mark, call.at) {
            turns.push(call.at.duration_since(earlier));
        }
    }
    bench.recorded()?;
    let took = began.elapsed();
    let used = Usage::of(bench.pid())?.since(before);
    let asked = bench.counts();
    let flushes = asked.get("/runs/flush").copied().unwrap_or_default();
    Ok(format!(
        "{runs} runs of {TURNS} turns in {:.1} s: turn {}; CPU/turn {:.2} ms; peak {:.1} MB, {:.2} MB a run; {:.1} flushes a second\n  {}",
        took.as_secs_f64(),
        spread(&mut turns),
        (used.own + used.children).as_secs_f64() * 1000.0 / f64::from(runs * TURNS),
        mb(peak_kb(bench.pid())?),
        mb(peak_kb(bench.pid())?.saturating_sub(empty)) / f64::from(runs),
        flushes as f64 / took.as_secs_f64(),
        routes(&asked)
    ))
}
