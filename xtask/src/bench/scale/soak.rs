//! One run of two thousand turns, each of which prints 64 KiB: its memory must not grow with them.

use std::time::Instant;

use anyhow::Result;

use super::{mb, routes};
use crate::bench::bot::{Bench, Programs};
use crate::bench::model::Script;
use crate::bench::process::{Usage, peak_kb, resident_kb};
use crate::terminal::Step;

/// Turns at which the memory is looked at.
const LOOKS: [u32; 4] = [200, 500, 1000, 2000];
/// What each turn prints.
const OUTPUT_BYTES: usize = 64 << 10;

/// Measures and prints.
pub fn run(programs: &Programs) -> Result<()> {
    let step = Step::begin("a run of 2000 turns");
    let turns = LOOKS[LOOKS.len() - 1];
    let bench = Bench::start(programs, Script { turns, output_bytes: OUTPUT_BYTES, ..Script::default() })?;
    let before = Usage::of(bench.pid())?;
    bench.begin("soak")?;
    step.done("begun");
    watch(&bench, before)?;
    bench.recorded()?;
    println!("recorded: peak {:.1} MB; {}", mb(peak_kb(bench.pid())?), routes(&bench.counts()));
    Ok(())
}

/// Prints each line when it is known: the whole takes minutes.
fn watch(bench: &Bench, before: Usage) -> Result<()> {
    let (mut done, mut last) = (0, (Instant::now(), before));
    for turn in LOOKS {
        bench.model.calls(turn - done)?;
        let (now, used) = (Instant::now(), Usage::of(bench.pid())?);
        let cpu = used.since(last.1);
        println!(
            "turn {turn}: {:.1} MB; since the line before {:.2} ms wall and {:.2} ms CPU a turn",
            mb(resident_kb(bench.pid())?),
            now.duration_since(last.0).as_secs_f64() * 1000.0 / f64::from(turn - done),
            (cpu.own + cpu.children).as_secs_f64() * 1000.0 / f64::from(turn - done),
        );
        (done, last) = (turn, (now, used));
    }
    bench.model.calls(1)?;
    Ok(())
}
