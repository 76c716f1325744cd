//! The command: options, and the measurements that they select.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::aims::Verdicts;
use super::bot::{Programs, Which};
use super::scale::{self, Row, Size};
use super::{chat, overload, residents, turns};

/// The measurements.
#[derive(Debug, Subcommand)]
pub enum What {
    /// The agent runtime on the state Worker, against a model that answers at once: turns, then scale
    Loop(LoopOptions),
    /// Requests of a few clients beside a greedy one, and beside connections that never finish a request
    Overload(overload::Options),
    /// Threads on a resident of this machine, beside clone and installation of the same tree
    Residents(residents::Options),
    /// Mentions in a chat: how soon they are answered, and what many live threads cost
    Chat(chat::Options),
}

/// How to measure the agent runtime.
#[derive(Debug, Args)]
pub struct LoopOptions {
    /// Numbers of turns to measure
    #[arg(long, value_delimiter = ',', default_values_t = [1, 50, 200], value_parser = clap::value_parser!(u32).range(1..))]
    turns: Vec<u32>,
    /// Runs of each; the median is printed
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Only these; may be repeated
    #[arg(long, value_enum)]
    only: Vec<Row>,
    /// Directory of the data, on a disk as in production: below /dev/shm bubblewrap shares no sandbox
    #[arg(long, default_value = "/tmp")]
    dir: PathBuf,
    /// Measure the bot as it was built last, without building it: to repeat a measurement
    #[arg(long)]
    as_built: bool,
    /// Two minutes: fewer runs at once, no thousand viewers, a short soak
    #[arg(long)]
    quick: bool,
    /// Fail when a figure is worse than its aim
    #[arg(long)]
    check: bool,
    /// Everything once, as small as it can be, with the bot of the tests: that it works, not how fast
    #[arg(long, conflicts_with_all = ["turns", "runs", "only", "dir", "as_built", "quick", "check"])]
    smoke: bool,
}

/// Measures.
pub fn run(what: &What) -> Result<()> {
    match what {
        What::Loop(options) => measure_loop(options),
        What::Overload(options) => overload::run(options),
        What::Residents(options) => residents::run(options),
        What::Chat(options) => chat::run(options),
    }
}

/// Shows that the measurements work from end to end.
/// No figure decides: it is the check that fits a busy machine.
pub fn smoke() -> Result<()> {
    smoke_loop()?;
    overload::run(&overload::Options::smoke(&std::env::temp_dir()))?;
    residents::run(&residents::Options::smoke(&std::env::temp_dir()))?;
    chat::run(&chat::Options::smoke(&std::env::temp_dir()))
}

/// With the bot as tests start it.
fn smoke_loop() -> Result<()> {
    let programs = Programs::new(&std::env::temp_dir(), Which::Tested)?;
    println!("The benchmark of the runtime in its smallest form: that it works, not how fast.");
    let mut verdicts = Verdicts::default();
    turns::run(&programs, &[1], Size::SMOKE.repeats, &mut verdicts)?;
    scale::run(&programs, Size::SMOKE, &mut verdicts, |_| true)
}

fn measure_loop(options: &LoopOptions) -> Result<()> {
    if options.smoke {
        return smoke_loop();
    }
    let which = if options.as_built {
        Which::AsBuilt
    } else {
        Which::Released
    };
    let programs = Programs::new(&options.dir, which)?;
    let wants = |row: Row| options.only.is_empty() || options.only.contains(&row);
    let size = if options.quick {
        Size::QUICK
    } else {
        Size::FULL
    };
    let mut verdicts = Verdicts::default();
    if wants(Row::Turns) {
        turns::run(
            &programs,
            &options.turns,
            options.runs.min(size.repeats),
            &mut verdicts,
        )?;
    }
    scale::run(&programs, size, &mut verdicts, wants)?;
    if options.check {
        verdicts.check()
    } else {
        Ok(())
    }
}
