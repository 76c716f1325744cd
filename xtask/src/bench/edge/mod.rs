//! `cargo xtask bench edge`: what the edge path adds to a request, in our Worker and in the same proxy in TypeScript on the
//! same runtime.
//!
//! Asked are a server directly, and that server behind each Worker: Worker, Durable Object, server. Both Workers share
//! one core and take turns; the server and the load share another. Before anything is measured, all three must answer
//! alike, and both Workers must treat headers alike. Not here: what is right (`tests/edge`), and what a container adds, which is the same for both.

mod alike;
mod contest;
mod rows;
mod side;
mod table;
mod upstream;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use self::contest::{Contest, Plan};
use crate::bench::load::settle;
use crate::terminal::Step;

/// How long to measure, and where.
#[derive(Debug, Args)]
pub struct Options {
    /// A quarter of a minute instead of about two minutes
    #[arg(long)]
    quick: bool,
    /// Only rows whose name contains this; may be repeated
    #[arg(long)]
    only: Vec<String>,
    /// Where the Workers' data lies; memory by default, so that what is measured is the Workers and not a disk
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Each row once, for a moment: that it works, not how fast
    #[arg(long, conflicts_with_all = ["quick", "only", "dir"])]
    smoke: bool,
}

/// The least that shows that everything is measured.
const SMOKE: Plan = Plan { rounds: 1, slice: Duration::from_millis(100) };

impl Options {
    fn plan(&self) -> Plan {
        if self.quick {
            Plan { rounds: 2, slice: Duration::from_millis(400) }
        } else {
            Plan { rounds: 6, slice: Duration::from_millis(1500) }
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }
}

/// Measures and prints the table.
pub fn run(options: &Options) -> Result<()> {
    if options.smoke {
        return smoke();
    }
    // A machine that measures does nothing else meanwhile, and this process stays as it is settled here.
    measure(&options.dir, options.plan(), settle, |name| options.wants(name))
}

/// Shows that all three answer alike and that each row can be measured. No figure decides, so nothing is settled.
pub fn smoke() -> Result<()> {
    println!("The benchmark of the edge path in its smallest form: that it works, not how fast.");
    measure(&std::env::temp_dir(), SMOKE, || Ok(()), |_| true)
}

fn measure(
    dir: &Path,
    plan: Plan,
    settle: impl FnOnce() -> Result<()>,
    wants: impl Fn(&str) -> bool,
) -> Result<()> {
    let step = Step::begin("builds");
    let built = side::build(&step)?;
    step.done("");
    settle()?;
    let upstream = upstream::start()?;
    let sides = side::start(&built, upstream, dir)?;
    let step = Step::begin("all three answer alike");
    alike::check(&sides)?;
    step.done("");
    let mut contest = Contest::new(sides, plan);
    println!("{}", table::HEAD);
    for row in rows::ALL.iter().filter(|row| wants(row.name)) {
        println!("{}", table::line(row.name, contest.measure(row)?));
    }
    println!("\n{}", contest.note());
    Ok(())
}
