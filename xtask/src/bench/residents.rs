//! `cargo xtask bench residents`: threads on a resident beside clone and installation.
//!
//! Not here: the load itself (`containers/bot/adapters/examples/resident_load`), and residents in containers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use super::aims::{self, Verdicts};
use crate::cargo::{self, Target};
use crate::terminal::Step;

/// The load.
const EXAMPLE: &str = "resident_load";
/// The repository of the smallest measurement.
const TINY: &str = "tiny";
/// The operation that the others are compared with.
const COLD: &str = "clone+install";
/// The operation that is compared.
const ATTACH: &str = "attach";
/// Users of a resident. More threads at once are refused.
const POOL_USERS: u64 = 16;

/// The measured repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Repository {
    /// 1,700 files with 2,000 files of dependencies
    Small,
    /// 50,000 files with 20,000 files of dependencies
    Medium,
    /// Long paths, links, a huge file, a submodule without content, a pointer of LFS
    Hostile,
}

/// What to measure, and where.
#[derive(Debug, Args)]
pub struct Options {
    /// Numbers of concurrent threads; beyond 16, a resident has no free user for them
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 16, 24], value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: Vec<u32>,
    /// Repository
    #[arg(long, value_enum, default_value = "small")]
    repository: Repository,
    /// Repetitions of each number of threads
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Directory of the data
    #[arg(long, default_value = "/tmp")]
    dir: PathBuf,
    /// Fail if a figure exceeds its limit; fits an idle machine
    #[arg(long)]
    check: bool,
    /// Measure once, with a tiny repository and the build of the tests: shows that it works, not how fast
    #[arg(long, conflicts_with_all = ["threads", "repository", "rounds", "check"])]
    smoke: bool,
}

impl Repository {
    const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Hostile => "hostile",
        }
    }
}

impl Options {
    /// The smallest measurement, which any machine can run.
    pub fn smoke(dir: &Path) -> Self {
        let repository = Repository::Small;
        Self {
            threads: vec![1, 2],
            repository,
            rounds: 1,
            dir: dir.to_owned(),
            check: false,
            smoke: true,
        }
    }
}

/// Measures and prints the table.
pub fn run(options: &Options) -> Result<()> {
    let smoke = Options::smoke(&options.dir);
    let options = if options.smoke { &smoke } else { options };
    let step = Step::begin("load");
    let profile = if options.smoke { "dev" } else { "release" };
    let target = Target {
        package: "ars-bot-adapters",
        kind: "--example",
        name: EXAMPLE,
        profile,
    };
    let program = cargo::build(target, &step)?;
    step.done("");
    let place = tempfile::tempdir_in(&options.dir)?;
    let threads: Vec<String> = options.threads.iter().map(u32::to_string).collect();
    let repository = if options.smoke {
        TINY
    } else {
        options.repository.name()
    };
    let output = Command::new(program)
        .arg(place.path())
        .args([
            repository.to_owned(),
            threads.join(","),
            options.rounds.to_string(),
        ])
        .stderr(Stdio::inherit())
        .output()
        .context("the load cannot be started")?;
    ensure!(
        output.status.success(),
        "the load failed ({})",
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Value> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    print!("{}", table(&rows));
    let mut verdicts = Verdicts::default();
    if !options.smoke {
        print!(
            "{}",
            judged(&mut verdicts, options.repository, &medians(&rows))
        );
    }
    let errors: u64 = rows.iter().filter_map(|row| row["errors"].as_u64()).sum();
    ensure!(errors == 0, "{errors} operations failed");
    let is_served = |row: &&Value| {
        row["threads"]
            .as_u64()
            .is_some_and(|threads| threads <= POOL_USERS)
    };
    let refused: u64 = rows
        .iter()
        .filter(is_served)
        .filter_map(|row| row["refused"].as_u64())
        .sum();
    ensure!(
        refused == 0,
        "{refused} operations found no free user, although there are {POOL_USERS}"
    );
    if options.check {
        verdicts.check()
    } else {
        Ok(())
    }
}

/// Medians in milliseconds, by the number of threads and the operation.
type Medians = BTreeMap<(u64, String), f64>;

fn medians(rows: &[Value]) -> Medians {
    let median = |row: &Value| {
        let key = (
            row["threads"].as_u64()?,
            row["operation"].as_str()?.to_owned(),
        );
        Some((key, row["p50Ms"].as_f64()?))
    };
    rows.iter().filter_map(median).collect()
}

/// Compares the figures of one thread with their limits, and returns a line for each.
fn judged(verdicts: &mut Verdicts, repository: Repository, medians: &Medians) -> String {
    let of = |threads: u64, operation: &str| medians.get(&(threads, operation.to_owned())).copied();
    let attach = match repository {
        Repository::Small => Some(aims::ATTACH_SMALL),
        Repository::Medium => Some(aims::ATTACH_MEDIUM),
        Repository::Hostile => None,
    };
    let mut figures = vec![(aims::EXEC, String::new(), of(1, "exec"))];
    if let Some(aim) = attach {
        figures.push((aim, String::new(), of(1, ATTACH)));
        // An attach does not slow down while a refresh runs.
        for refresh in ["refresh", "refresh+commit", "refresh+install"] {
            figures.push((
                aim,
                format!(" during {refresh}"),
                of(0, &format!("{ATTACH}, {refresh}")),
            ));
        }
        let ratio = of(1, ATTACH)
            .zip(of(1, COLD))
            .map(|(attach, cold)| attach / cold);
        figures.push((aims::ATTACH_RATIO, String::new(), ratio));
    }
    if repository == Repository::Small {
        figures.push((aims::RESTORE, String::new(), of(0, "restore")));
        for (threads, operation) in [
            (1, "checkpoint"),
            (1, "checkpoint, same"),
            (0, "local checkpoint"),
            (0, "local checkpoint, same"),
        ] {
            figures.push((
                aims::CHECKPOINT,
                format!(" ({operation})"),
                of(threads, operation),
            ));
        }
    }
    let known = figures
        .into_iter()
        .filter_map(|(aim, at, figure)| Some((aim, at, figure?)));
    known
        .map(|(aim, at, figure)| verdicts.hold(aim, &at, figure) + "\n")
        .collect()
}

/// Returns the table, and how many times faster an attach is than a clone with installation.
fn table(rows: &[Value]) -> String {
    let mut text = format!(
        "{:>7}  {:<30}  {:>12}  {:>12}  {:>7}  {:>6}\n",
        "threads", "operation", "p50", "p95", "refused", "errors"
    );
    for row in rows {
        let number = |field: &str| row[field].as_u64().unwrap_or(0);
        let (threads, operation) = (number("threads"), row["operation"].as_str().unwrap_or(""));
        let ms = |field: &str| {
            row[field]
                .as_f64()
                .map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms"))
        };
        let first = row["bytes"]
            .as_u64()
            .map_or_else(|| ms("p50Ms"), |bytes| format!("{} MiB", bytes >> 20));
        text += &format!(
            "{threads:>7}  {operation:<30}  {first:>12}  {:>12}  {:>7}  {:>6}\n",
            ms("p95Ms"),
            number("refused"),
            number("errors")
        );
    }
    let medians = medians(rows);
    for ((threads, _), attach) in medians
        .iter()
        .filter(|((_, operation), _)| operation == ATTACH)
    {
        if let Some(cold) = medians.get(&(*threads, COLD.to_owned())) {
            text += &format!(
                "{threads} threads: an attach is {:.1} times as fast as {COLD}\n",
                cold / attach
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn attach_is_compared_with_a_clone() {
        let row = |operation: &str, ms: f64| json!({"threads": 8, "operation": operation, "p50Ms": ms, "p95Ms": ms, "errors": 0});
        let text = table(&[row("attach", 100.0), row(COLD, 4_000.0)]);
        assert!(
            text.ends_with("8 threads: an attach is 40.0 times as fast as clone+install\n"),
            "{text}"
        );
    }

    /// A figure that was not measured has no verdict.
    #[test]
    fn figures_of_one_thread_have_limits() {
        let row = |threads: u64, operation: &str, ms: f64| json!({"threads": threads, "operation": operation, "p50Ms": ms});
        let rows = [
            row(1, "attach", 149.0),
            row(8, "attach", 900.0),
            row(1, COLD, 5_000.0),
            row(1, "exec", 16.0),
            row(0, "local checkpoint", 19.0),
        ];
        let mut verdicts = Verdicts::default();
        let text = judged(&mut verdicts, Repository::Small, &medians(&rows));
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(
            text.contains("exec, p50: 16.00 ms, at most 15 ms: MISSED"),
            "{text}"
        );
        assert_eq!(text.matches("MISSED").count(), 2, "the ratio is 33: {text}");
        assert!(verdicts.check().is_err());
    }
}
