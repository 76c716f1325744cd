//! The cost of a run's tool turns, with the ledger and the state Worker.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::aims::{AMORTIZED_TURNS, CPU_PER_TURN, PEAK, PEAK_TURNS, Verdicts, WALL_PER_TURN};
use super::bot::{Bench, Counts, Programs};
use super::model::Script;
use super::process::{Usage, peak_kb};
use super::report::{Sample, median, table};
use crate::terminal::Step;

/// The thread that both requests in a measurement use.
const THREAD: &str = "bench";

/// Measures and prints the table.
pub fn run(programs: &Programs, turns: &[u32], runs: u32, verdicts: &mut Verdicts) -> Result<()> {
    let mut rows = Vec::new();
    for &count in turns {
        let step = Step::begin(&format!("{count} turns"));
        let samples = (0..runs)
            .map(|_| measure(programs, count))
            .collect::<Result<Vec<_>>>()?;
        step.done("");
        rows.push((count, samples));
    }
    println!("{}", table(&rows));
    for (count, samples) in &rows {
        hold(*count, samples, verdicts);
    }
    println!(
        "Medians of {runs}. Each turn runs `true` in bash, with the ledger in the state Worker on workerd."
    );
    println!(
        "CPU is the bot's threads (schedstat) and all processes below it (in ticks of 10 ms); memory is VmHWM of the bot."
    );
    println!("Both include a run's fixed cost: cloning its repository, starting, recording.");
    Ok(())
}

fn hold(turns: u32, samples: &[Sample], verdicts: &mut Verdicts) {
    let at = format!(" of {turns}");
    let ms = |field: fn(&Sample) -> Duration| {
        median(samples.iter().map(field).collect()).as_secs_f64() * 1000.0
    };
    if turns >= AMORTIZED_TURNS {
        println!(
            "{}",
            verdicts.hold(CPU_PER_TURN, &at, ms(|sample| sample.cpu))
        );
        println!(
            "{}",
            verdicts.hold(WALL_PER_TURN, &at, ms(|sample| sample.wall))
        );
    }
    if turns == PEAK_TURNS {
        let peak_kb = median(samples.iter().map(|sample| sample.peak_kb).collect());
        println!("{}", verdicts.hold(PEAK, &at, peak_kb as f64 / 1024.0));
    }
}

fn total(requests: &Counts) -> u64 {
    requests.values().sum()
}

/// Measures a single run.
pub fn measure(programs: &Programs, turns: u32) -> Result<Sample> {
    let bench = Bench::start(programs, Script::instant(turns))?;
    let (before, asked) = (Usage::read(bench.pid())?, bench.counts()?);
    let began = Instant::now();
    bench.ask(THREAD, "1")?;
    // Each model answer is a call; the last call ends the run.
    let calls = bench.model.arrivals(turns + 1)?;
    // The run's sandbox ends with it, so its usage stays unknown.
    let others = Usage::read(bench.pid())?.since(before);
    bench.recorded()?;
    let own = Usage::read(bench.pid())?.since(before).own;
    let asked = total(&bench.counts()?) - total(&asked);
    let peak_kb = peak_kb(bench.pid())?;

    let again = Instant::now();
    bench.ask(THREAD, "2")?;
    let next = bench.model.arrivals(1)?[0];
    Ok(Sample {
        cpu: (own + others.children + others.below) / turns,
        own_cpu: own / turns,
        wall: calls[calls.len() - 1].duration_since(calls[0]) / turns,
        peak_kb,
        state_requests: asked,
        start: bench.start,
        first_call: calls[0].duration_since(began),
        next_call: next.duration_since(again),
    })
}
