//! Tool turns of one run: what they cost, with the ledger and the state Worker.

use std::time::Instant;

use anyhow::Result;

use super::bot::{Bench, Programs};
use super::model::Script;
use super::process::{Usage, peak_kb};
use super::proxy;
use super::report::{Sample, table};
use crate::terminal::Step;

/// The thread that both requests of a measurement use.
const THREAD: &str = "bench";

/// Measures and prints the table.
pub fn run(programs: &Programs, turns: &[u32], runs: u32) -> Result<()> {
    let mut rows = Vec::new();
    for &count in turns {
        let step = Step::begin(&format!("{count} turns"));
        let samples = (0..runs).map(|_| measure(programs, count)).collect::<Result<Vec<_>>>()?;
        step.done("");
        rows.push((count, samples));
    }
    println!("{}", table(&rows));
    println!(
        "Medians of {runs}. Each turn runs `true` in bash, with the ledger in the state Worker on workerd."
    );
    println!(
        "CPU is the bot's threads (schedstat) and the children it waited for (in ticks of 10 ms); memory is VmHWM."
    );
    println!("Both include a run's fixed cost: cloning its repository, starting, recording.");
    Ok(())
}

fn measure(programs: &Programs, turns: u32) -> Result<Sample> {
    let bench = Bench::start(programs, Script::instant(turns))?;
    let (before, asked) = (Usage::of(bench.pid())?, bench.counts());
    let began = Instant::now();
    bench.ask(THREAD, "1")?;
    // A turn's answer is one call, and the last call says that it is done.
    let calls = bench.model.arrivals(turns + 1)?;
    bench.recorded()?;
    let used = Usage::of(bench.pid())?.since(before);
    let asked = proxy::since(&bench.counts(), &asked);
    let peak_kb = peak_kb(bench.pid())?;

    let again = Instant::now();
    bench.ask(THREAD, "2")?;
    let next = bench.model.arrivals(1)?[0];
    Ok(Sample {
        cpu: (used.own + used.children) / turns,
        own_cpu: used.own / turns,
        wall: calls[calls.len() - 1].duration_since(calls[0]) / turns,
        peak_kb,
        state_requests: asked.values().sum(),
        start: bench.start,
        first_call: calls[0].duration_since(began),
        next_call: next.duration_since(again),
    })
}
