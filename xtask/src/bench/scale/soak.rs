//! A run with two thousand turns, each of which prints 64 KiB: its memory must not grow with them.

use std::time::Instant;

use anyhow::Result;

use super::Size;
use super::figures::{mb, routes};
use crate::bench::aims::Verdicts;
use crate::bench::bot::{Bench, Programs};
use crate::bench::model::Script;
use crate::bench::process::{Usage, peak_kb, resident_kb};
use crate::terminal::Step;

/// Each turn's output in bytes.
const OUTPUT_BYTES: usize = 64 << 10;

/// Measures and prints the long run.
pub fn run(programs: &Programs, size: Size, _verdicts: &mut Verdicts) -> Result<()> {
    let turns = size.soak.last().copied().unwrap_or_default();
    let step = Step::begin(&format!("a run of {turns} turns"));
    let bench = Bench::start(
        programs,
        Script {
            turns,
            output_bytes: OUTPUT_BYTES,
            ..Script::default()
        },
    )?;
    let before = Usage::read(bench.pid())?;
    bench.begin("soak")?;
    step.done("begun");
    watch(&bench, size.soak, before)?;
    bench.recorded()?;
    println!(
        "recorded: peak {:.1} MB; {}",
        mb(peak_kb(bench.pid())?),
        routes(&bench.counts()?)
    );
    Ok(())
}

/// Prints each line when it is known: the whole takes minutes.
fn watch(bench: &Bench, looks: &[u32], before: Usage) -> Result<()> {
    let (mut done, mut last) = (0, (Instant::now(), before));
    for &turn in looks {
        bench.model.calls(turn - done)?;
        let (now, used) = (Instant::now(), Usage::read(bench.pid())?);
        let cpu = used.since(last.1);
        println!(
            "turn {turn}: {:.1} MB; since the line before {:.2} ms wall and {:.2} ms CPU a turn",
            mb(resident_kb(bench.pid())?),
            now.duration_since(last.0).as_secs_f64() * 1000.0 / f64::from(turn - done),
            (cpu.own + cpu.children + cpu.below).as_secs_f64() * 1000.0 / f64::from(turn - done),
        );
        (done, last) = (turn, (now, used));
    }
    bench.model.calls(1)?;
    Ok(())
}
