//! `cargo xtask bench`: what a turn of the agent loop costs.

mod model;
mod process;
mod report;
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
}

/// Measures.
pub fn run(what: &What) -> Result<()> {
    match what {
        What::Loop { turns, runs } => turns::run(turns, *runs),
    }
}
