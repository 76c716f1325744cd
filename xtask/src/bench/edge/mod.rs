//! `cargo xtask bench edge`: what the edge path adds to a request, in our Worker and in the same proxy in TypeScript on the
//! same runtime.
//!
//! Asked are a server directly, and that server behind each Worker: Worker, Durable Object, server. Both Workers share
//! one core and take turns; the server and the load share another. Before anything is measured, all three must answer
//! alike. Not here: what is right (`tests/edge`), and what a container adds, which is the same for both.

mod contest;
mod rows;
mod side;
mod table;
mod upstream;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

use self::contest::{Contest, Plan};
use self::side::Side;
use super::state::{connection::Connection, settle};
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
}

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
    let step = Step::begin("builds");
    let built = side::build(&step)?;
    step.done("");
    settle()?;
    let upstream = upstream::start()?;
    let sides = side::start(&built, upstream, &options.dir)?;
    let step = Step::begin("all three answer alike");
    alike(&sides)?;
    step.done("");
    let mut contest = Contest::new(sides, options.plan());
    println!("{}", table::HEAD);
    for row in rows::ALL.iter().filter(|row| options.wants(row.name)) {
        println!("{}", table::line(row.name, contest.measure(row)?));
    }
    println!("\n{}", contest.note());
    Ok(())
}

fn alike(sides: &[Side; 3]) -> Result<()> {
    for row in &rows::ALL {
        let request = (row.ask)().bytes();
        let ask = |side: &Side| Connection::open(side.measured().address)?.ask(&request);
        let [direct, ours, theirs] = [ask(&sides[0])?, ask(&sides[1])?, ask(&sides[2])?];
        ensure!(direct.status == 200, "{}: answered {}", row.name, direct.status);
        ensure!(direct == ours, "{}: {} does not answer as asked directly", row.name, sides[1].name);
        ensure!(direct == theirs, "{}: {} does not answer as asked directly", row.name, sides[2].name);
    }
    Ok(())
}
