//! One run with nobody, a hundred and a thousand watching: how old events are when they come, and what the run and the
//! process pay.

use std::time::Duration;

use anyhow::Result;

use super::viewers::Viewers;
use super::{mb, spread};
use crate::bench::bot::{Bench, Programs};
use crate::bench::model::Script;
use crate::bench::process::{Usage, peak_kb};
use crate::terminal::Step;

/// Numbers of viewers.
const VIEWERS: [usize; 3] = [0, 100, 1000];
/// Tool turns of the run.
const TURNS: u32 = 60;
/// Turns before which all viewers are there.
const JOINED: usize = 20;
/// Before each event of an answer: a turn takes about a quarter of a second, as the fastest models do.
const PAUSE: Duration = Duration::from_millis(30);

/// Measures and prints.
pub fn run(programs: &Programs) -> Result<()> {
    println!();
    for count in VIEWERS {
        let step = Step::begin(&format!("{count} viewers"));
        let line = measure(programs, count)?;
        step.done("");
        println!("{line}");
    }
    println!("Events carry milliseconds, so that an age is up to one too long.");
    Ok(())
}

fn measure(programs: &Programs, count: usize) -> Result<String> {
    let bench = Bench::start(programs, Script { turns: TURNS, pause: PAUSE, ..Script::default() })?;
    let run = bench.begin("watched")?;
    bench.model.calls(1)?;
    let before = Usage::of(bench.pid())?;
    let viewers = Viewers::watch(&bench.events(&run)?, count)?;
    let calls = bench.model.arrivals(TURNS)?;
    let mut turns: Vec<_> = calls[JOINED..].windows(2).map(|pair| pair[1].duration_since(pair[0])).collect();
    let used = Usage::of(bench.pid())?.since(before);
    bench.recorded()?;
    let mut ages = viewers.ages()?;
    Ok(format!(
        "{count} viewers: turn {}; {} events came, age {}; own CPU/turn {:.2} ms, peak {:.1} MB",
        spread(&mut turns),
        ages.len(),
        spread(&mut ages),
        used.own.as_secs_f64() * 1000.0 / f64::from(TURNS),
        mb(peak_kb(bench.pid())?),
    ))
}
