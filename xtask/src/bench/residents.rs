//! `cargo xtask bench residents`: threads on a resident beside clone and installation.
//!
//! Not here: the load itself (`containers/bot/adapters/examples/resident_load.rs`), and residents in containers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::cargo::{self, Target};
use crate::terminal::Step;

/// The load.
const EXAMPLE: &str = "resident_load";
/// The operation that the others are compared with.
const COLD: &str = "clone+install";

/// What to measure, and where.
#[derive(Debug, Args)]
pub struct Options {
    /// Numbers of concurrent threads; a resident serves at most 16
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 16], value_parser = clap::value_parser!(u32).range(1..=16))]
    threads: Vec<u32>,
    /// Files of the repository
    #[arg(long, default_value_t = 1_700)]
    files: u32,
    /// Files of its dependencies
    #[arg(long, default_value_t = 2_000)]
    dependencies: u32,
    /// Repetitions of each number of threads
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Directory of the data
    #[arg(long, default_value = "/tmp")]
    dir: PathBuf,
    /// Measure once, with a small repository and the build of the tests: shows that it works, not how fast
    #[arg(long, conflicts_with_all = ["threads", "files", "dependencies", "rounds"])]
    smoke: bool,
}

impl Options {
    /// The smallest measurement, which any machine can run.
    pub fn smoke(dir: &Path) -> Self {
        let (threads, dir) = (vec![1, 2], dir.to_owned());
        Self { threads, files: 60, dependencies: 40, rounds: 1, dir, smoke: true }
    }
}

/// Measures and prints the table.
pub fn run(options: &Options) -> Result<()> {
    let smoke = Options::smoke(&options.dir);
    let options = if options.smoke { &smoke } else { options };
    let step = Step::begin("load");
    let profile = if options.smoke { "dev" } else { "release" };
    let target = Target { package: "ars-bot-adapters", kind: "--example", name: EXAMPLE, profile };
    let program = cargo::build(target, &step)?;
    step.done("");
    let place = tempfile::tempdir_in(&options.dir)?;
    let threads: Vec<String> = options.threads.iter().map(u32::to_string).collect();
    let numbers = [options.files, options.dependencies].map(|number| number.to_string());
    let output = Command::new(program)
        .arg(place.path())
        .args(numbers)
        .args([threads.join(","), options.rounds.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .context("the load cannot be started")?;
    ensure!(output.status.success(), "the load failed ({})", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    print!("{}", table(&rows));
    let errors: u64 = rows.iter().filter_map(|row| row["errors"].as_u64()).sum();
    ensure!(errors == 0, "{errors} operations failed");
    Ok(())
}

/// Returns the table, and how many times faster an attach is than a clone with installation.
fn table(rows: &[Value]) -> String {
    let mut text =
        format!("{:>7}  {:<13}  {:>10}  {:>10}  {:>6}\n", "threads", "operation", "p50", "p95", "errors");
    let mut medians = BTreeMap::new();
    for row in rows {
        let (threads, operation) =
            (row["threads"].as_u64().unwrap_or(0), row["operation"].as_str().unwrap_or(""));
        let ms = |field: &str| row[field].as_f64().map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms"));
        let errors = row["errors"].as_u64().unwrap_or(0);
        text += &format!(
            "{threads:>7}  {operation:<13}  {:>10}  {:>10}  {errors:>6}\n",
            ms("p50Ms"),
            ms("p95Ms")
        );
        if let Some(median) = row["p50Ms"].as_f64() {
            medians.insert((threads, operation.to_owned()), median);
        }
    }
    for ((threads, _), attach) in medians.iter().filter(|((_, operation), _)| operation == "attach") {
        if let Some(cold) = medians.get(&(*threads, COLD.to_owned())) {
            text +=
                &format!("{threads} threads: an attach is {:.1} times as fast as {COLD}\n", cold / attach);
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
        assert!(text.ends_with("8 threads: an attach is 40.0 times as fast as clone+install\n"), "{text}");
    }
}
