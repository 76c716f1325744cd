//! `cargo xtask bench`: what a turn of the agent loop costs, how the runtime scales, and how the Workers compare.

mod bot;
mod edge;
mod model;
mod process;
mod proxy;
mod report;
mod scale;
mod state;
mod turns;
mod twin;

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use self::bot::Programs;
use self::scale::Row;

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum What {
    /// The agent runtime on the state Worker, against a model that answers at once: turns, then scale
    Loop {
        /// Numbers of turns to measure
        #[arg(long, value_delimiter = ',', default_values_t = [1, 50, 200], value_parser = clap::value_parser!(u32).range(1..))]
        turns: Vec<u32>,
        /// Runs of each, of which the median is told
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
        /// Only these; may be repeated
        #[arg(long, value_enum)]
        only: Vec<Row>,
        /// Where the data lies; memory by default, so that what is measured is the programs and not a disk
        #[arg(long, default_value = "/dev/shm")]
        dir: PathBuf,
        /// Measure the bot as it was built last, without building it: to repeat a measurement
        #[arg(long)]
        as_built: bool,
    },
    /// The state Worker against its TypeScript twin and against SQLite in process
    State(state::Options),
    /// What the edge path adds to a request, against the same proxy in TypeScript on the same runtime
    Edge(edge::Options),
}

/// Measures.
pub fn run(what: &What) -> Result<()> {
    match what {
        What::Loop { turns, runs, only, dir, as_built } => {
            let programs = Programs::new(dir, *as_built)?;
            let wants = |row: Row| only.is_empty() || only.contains(&row);
            if wants(Row::Turns) {
                turns::run(&programs, turns, *runs)?;
            }
            scale::run(&programs, wants)
        }
        What::State(options) => state::run(options),
        What::Edge(options) => edge::run(options),
    }
}
