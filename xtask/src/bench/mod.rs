//! `cargo xtask bench`: what a turn of the agent loop costs, and how the state Worker compares.

mod model;
mod process;
mod report;
mod state;
mod turns;

use anyhow::Result;
use clap::Subcommand;

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Tool turns against a model that answers at once, durability on
    Loop {
        /// Numbers of turns to measure
        #[arg(long, value_delimiter = ',', default_values_t = [1, 50, 200], value_parser = clap::value_parser!(u32).range(1..))]
        turns: Vec<u32>,
        /// Runs of each, of which the median is told
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
    },
    /// The state Worker against its TypeScript twin and against SQLite in process
    State(state::Options),
}

/// Measures.
pub fn run(what: &What) -> Result<()> {
    match what {
        What::Loop { turns, runs } => turns::run(turns, *runs),
        What::State(options) => state::run(options),
    }
}
