//! `cargo xtask drill`: the long forms of drills that ordinary tests run in short form.
//!
//! It runs those tests with more rounds and units, and they print their tables. Not here: the loads
//! and the gauges.

use anyhow::{Result, ensure};

use crate::cargo;

/// Rounds of the long form: ten looks in each fifth.
const ROUNDS: usize = 50;

/// A drill.
#[derive(Debug, clap::Subcommand)]
pub enum What {
    /// Use the service for a long time, and check that it holds no more afterwards
    Soak(Soak),
}

/// Options of the soak drill.
#[derive(Debug, clap::Args)]
pub struct Soak {
    /// Only this part
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Rounds; after each the gauges are read
    #[arg(long, default_value_t = ROUNDS)]
    rounds: usize,
    /// Units of load in a round; without it the number of each part
    #[arg(long)]
    units: Option<usize>,
}

/// A program under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Attach, write, read, exec and detach on a resident of this machine
    Resident,
    /// The same on a resident in a container, behind the resident Worker
    Container,
    /// Short runs of a bot, with viewers of their streams
    Runs,
    /// Requests of short runs to the state Worker
    State,
}

impl Part {
    const ALL: [Self; 4] = [Self::Resident, Self::Container, Self::Runs, Self::State];

    /// Returns the package, its test target, the test, and the units of a round.
    /// In 50 rounds these are 10,000 calls on each resident, 5,000 runs, and 50,000 requests.
    const fn test(self) -> [&'static str; 4] {
        match self {
            Self::Resident => [
                "ars-resident-local",
                "e2e",
                "soak_of_a_local_resident_is_flat",
                "40",
            ],
            Self::Container => [
                "ars-tests-residents",
                "residents",
                "soak::soak_of_a_resident_in_a_container_is_flat",
                "40",
            ],
            Self::Runs => [
                "ars",
                "cli",
                "soak::soak_of_runs_and_viewers_is_flat",
                "100",
            ],
            Self::State => [
                "ars-tests-workerd",
                "state_worker",
                "soak::soak_of_the_state_worker_is_flat",
                "100",
            ],
        }
    }
}

/// Runs a drill.
///
/// # Errors
/// A gauge grew; the table says which.
pub fn run(what: &What) -> Result<()> {
    let What::Soak(options) = what;
    let parts = options
        .only
        .map_or_else(|| Part::ALL.to_vec(), |part| vec![part]);
    for part in parts {
        let [package, target, test, units] = part.test();
        let units = options
            .units
            .map_or_else(|| units.to_owned(), |units| units.to_string());
        let status = cargo::command("test")
            .args([
                "--package",
                package,
                "--test",
                target,
                "--",
                "--exact",
                test,
                "--nocapture",
            ])
            .env("SOAK_ROUNDS", options.rounds.to_string())
            .env("SOAK_UNITS", units)
            .status()?;
        ensure!(status.success(), "the soak of {package} failed ({status})");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Part;

    #[test]
    fn tests_of_the_parts_exist() {
        let sources = [
            include_str!("../../containers/resident/local/tests/e2e.rs"),
            include_str!("../../tests/residents/tests/residents/soak.rs"),
            include_str!("../../containers/bot/app/tests/cli/soak.rs"),
            include_str!("../../tests/workerd/tests/state_worker/soak.rs"),
        ];
        for (part, source) in Part::ALL.into_iter().zip(sources) {
            let [_, _, test, _] = part.test();
            let name = test.rsplit("::").next().unwrap();
            assert!(source.contains(&format!("fn {name}()")), "{test}");
        }
    }
}
