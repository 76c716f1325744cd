//! Plans of the simulation that nobody has played before: each commit plays some of its own, beside those that every
//! commit plays (docs/testing.md).

use std::process::Command;

use anyhow::{Context, Result, ensure};
use ars_workerd as edge;

/// Names the commit whose seeds are played.
const COMMIT: &str = "SIMULATION_COMMIT";
/// How many of them, of each story.
const COUNT: &str = "SIMULATION_COMMIT_SEEDS";
/// Less than half a minute of two cores.
const SEEDS: &str = "100";

/// Has the tests play seeds of the commit that is checked out, unless the environment says which and how many.
pub fn of_the_commit(tests: &mut Command) -> Result<()> {
    if std::env::var_os(COMMIT).is_none() {
        let head = head()?;
        eprintln!("the simulation plays {SEEDS} more seeds of each story: {COMMIT}={head} {COUNT}={SEEDS}");
        tests.env(COMMIT, head).env(COUNT, SEEDS);
    }
    Ok(())
}

fn head() -> Result<String> {
    let mut git = Command::new("git");
    let told = git.args(["rev-parse", "HEAD"]).current_dir(edge::repo_root()).output();
    let told = told.context("git cannot be started")?;
    ensure!(told.status.success(), "git knows no commit: {}", String::from_utf8_lossy(&told.stderr).trim());
    Ok(String::from_utf8(told.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_are_told_the_commit_and_a_bounded_number_of_its_seeds() {
        let mut tests = Command::new("true");
        of_the_commit(&mut tests).unwrap();
        let told = |name: &str| {
            let set = tests.get_envs().find(|(set, _)| *set == name).and_then(|(_, value)| value);
            set.map(|value| value.to_str().unwrap().to_owned()).or_else(|| std::env::var(name).ok())
        };
        let commit = told(COMMIT).unwrap();
        assert!(commit.len() >= 12 && commit.bytes().all(|digit| digit.is_ascii_hexdigit()), "{commit}");
        assert!(told(COUNT).is_none_or(|count| count.parse::<u32>().is_ok_and(|count| count <= 100)));
    }
}
