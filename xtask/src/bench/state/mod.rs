//! `cargo xtask bench state`: the state Worker against its TypeScript twin on the same runtime, and against rusqlite in
//! process.
//!
//! Both Workers share one core and take turns; this process makes the load on another. Before anything is measured,
//! both must answer the same requests alike (`equal`). Not here: what is right (`tests/workerd`, `tests/contract`).

mod appends;
mod cases;
mod contest;
mod data;
mod equal;
mod fill;
mod floor;
mod flush;
mod memory;
mod report;
mod rows;
mod side;
mod twin;
mod whole;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use self::contest::{Contest, Plan};
use self::data::History;
use self::floor::Floor;
use crate::bench::load::settle;
use crate::terminal::Step;

/// What to measure, and how long.
#[derive(Debug, Args)]
pub struct Options {
    /// About a minute instead of about eight, with a tenth of the data
    #[arg(long)]
    quick: bool,
    /// Only rows whose name contains this; may be repeated
    #[arg(long)]
    only: Vec<String>,
    /// Where the data lies; memory by default, so that what is measured is the Workers and not a disk
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
}

impl Options {
    fn plan(&self) -> Plan {
        let ms = Duration::from_millis;
        if self.quick {
            Plan {
                runs: 2000,
                pairs: 2,
                light: ms(120),
                full: ms(350),
                flush: ms(2000),
                requests: 8000,
                restarts: 3,
            }
        } else {
            Plan {
                runs: 20_000,
                pairs: 4,
                light: ms(350),
                full: ms(1500),
                flush: ms(6000),
                requests: 100_000,
                restarts: 7,
            }
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }
}

/// Measures and prints the tables.
pub fn run(options: &Options) -> Result<()> {
    let plan = options.plan();
    let history = History::new(plan.runs)?;
    let step = Step::begin("builds");
    let floor = floor::build(&step)?;
    let mut sides = side::build(&options.dir, &step)?;
    step.done("");
    settle()?;
    let floor = Floor::start(&floor, &options.dir)?;
    sides.iter_mut().try_for_each(side::Side::start)?;

    let step = Step::begin("both Workers answer alike");
    let count = equal::check(&sides, &cases::all(history))?;
    step.done(&format!("{count} requests"));

    let mut contest = Contest::new(sides, floor, plan, history);
    println!("{}", report::HEAD);
    for row in rows::all(history).iter().filter(|row| options.wants(&row.name)) {
        println!("{}", report::line(&contest.measure(row)?));
    }
    println!("\n{}", report::WHOLE_HEAD);
    for whole in whole::ALL.iter().filter(|whole| options.wants(whole.name)) {
        for line in (whole.measure)(&mut contest)? {
            println!("{}", report::whole_line(&line));
        }
    }
    println!("\n{}", contest.note());
    Ok(())
}
