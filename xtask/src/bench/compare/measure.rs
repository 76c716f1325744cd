//! The measurement: rows, slices in rotating order, and the table.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::load::{Row, Slice, slice};
use super::side::Side;
use super::table;

/// The core of the measured Workers; all but one of them are idle at any time.
pub const WORKER_CORE: usize = 0;
/// The core of the load.
const LOAD_CORE: usize = 1;

/// How long to measure, and where.
#[derive(Debug, Args)]
pub struct Options {
    /// Take about a tenth of the time
    #[arg(long)]
    quick: bool,
    /// Only rows with this in their name; may be repeated
    #[arg(long)]
    only: Vec<String>,
    /// Directory of the Workers' data; in memory by default, so that no disk is measured
    #[arg(long, default_value = "/dev/shm")]
    pub dir: PathBuf,
    /// Run each row once, briefly: shows that it works, not how fast
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    smoke: bool,
}

/// How much of each row is measured.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Slices of each side.
    rounds: usize,
    /// Length of a slice.
    slice: Duration,
}

impl Options {
    /// The smallest measurement, which any machine can run.
    pub fn smoke(dir: &Path) -> Self {
        Self { quick: false, only: Vec::new(), dir: dir.to_owned(), smoke: true }
    }

    /// Whether only the function of the bench is checked.
    pub fn is_smoke(&self) -> bool {
        self.smoke
    }

    /// Pins this process to the core of the load and raises its priority, unless this is a smoke test.
    pub fn settle(&self) -> Result<()> {
        if self.smoke {
            return Ok(());
        }
        let cores = std::thread::available_parallelism()?.get();
        ensure!(cores > LOAD_CORE, "two cores are needed: one for the Workers, one for the load");
        // Only root may. Without it, the note below the table shows how much other processes disturbed.
        let pid = std::process::id().to_string();
        let _ = Command::new("chrt").args(["--rr", "--pid", "1", &pid]).stderr(Stdio::null()).status();
        let mut set = rustix::thread::CpuSet::new();
        set.set(LOAD_CORE);
        rustix::thread::sched_setaffinity(None, &set).context("cannot pin the load to one core")
    }

    fn plan(&self) -> Plan {
        let ms = Duration::from_millis;
        match (self.smoke, self.quick) {
            (true, _) => Plan { rounds: 1, slice: ms(50) },
            (_, true) => Plan { rounds: 2, slice: ms(300) },
            _ => Plan { rounds: 6, slice: ms(1200) },
        }
    }

    fn wants(&self, row: &Row) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| row.name.contains(part.as_str()))
    }
}

/// Measures the rows and prints the table.
pub fn measure(sides: &[Side], rows: &[Row], options: &Options) -> Result<()> {
    let plan = options.plan();
    let mut delayed: f64 = 0.0;
    println!("{}", table::HEAD);
    for row in rows.iter().filter(|row| options.wants(row)) {
        let mut sums = measure_row(sides, row, plan)?;
        delayed = sums.iter().map(Slice::delayed_share).fold(delayed, f64::max);
        println!("{}", table::line(row.name, &mut sums));
    }
    println!(
        "\nBare workerd for both Workers, on one core; the load on another. {} slices of {} ms for each row and side, in \
         rotating order.\nLatencies over HTTP/1.1, kept alive, to the last byte of the answer. Beside a direct p50, the \
         p50 ratio compares what each Worker adds to it. CPU is that of all threads of the runtime, per request.\n\
         The Workers' threads waited for their core at most {:.0} % of a row's time.",
        plan.rounds,
        plan.slice.as_millis(),
        delayed * 100.0
    );
    Ok(())
}

fn measure_row(sides: &[Side], row: &Row, plan: Plan) -> Result<Vec<Slice>> {
    let mut clients: Vec<_> = sides.iter().map(|_| row.sources()).collect();
    // The first slice of each side does not count: it includes just-in-time compilation.
    for (side, clients) in sides.iter().zip(&mut clients) {
        slice(side, clients, plan.slice)?;
    }
    let mut sums = vec![Slice::default(); sides.len()];
    for round in 0..plan.rounds {
        for turn in 0..sides.len() {
            let side = (round + turn) % sides.len();
            sums[side].add(slice(&sides[side], &mut clients[side], plan.slice)?);
        }
    }
    Ok(sums)
}
