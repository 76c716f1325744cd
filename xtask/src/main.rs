//! `cargo xtask`: sets up, starts, checks and measures the project.
//!
//! It needs the tools listed in README.md and installs everything else, pinned. It starts the service as processes and
//! uses it over HTTP, so it compiles in seconds and cannot bypass an interface.
#![forbid(unsafe_code)]

mod bench;
mod cargo;
mod configure;
mod drill;
mod image;
mod suites;
mod terminal;
mod up;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's tasks.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Build and start the service, and show it at work
    Up(up::Options),
    /// Check everything that CI checks
    Test,
    /// Run the quick checks: format, lints, the rules of the tree
    Check,
    /// Build the state Worker; its wrangler configuration calls this before a deployment
    BuildState,
    /// Build the edge Worker; its wrangler configuration calls this before a deployment
    BuildEdge,
    /// Build the resident Worker; its wrangler configuration calls this before a deployment
    BuildResident,
    /// Give a configuration to the state Worker, for a bot that reads it there
    Configure(configure::Options),
    /// Build the bot's image and measure its start, or check that of residents
    Image(image::Options),
    /// Run a drill in its long form
    Drill {
        #[command(subcommand)]
        what: drill::What,
    },
    /// Measure
    Bench {
        #[command(subcommand)]
        what: bench::What,
    },
}

/// Exit code of a process that Ctrl-C ended, as shells report it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let done = match Args::parse().task {
        Task::Up(options) => up::run(&options),
        Task::Test => verify::test(),
        Task::Check => verify::check(),
        Task::BuildState => build("state Worker", ars_workerd::build_state_worker),
        Task::BuildEdge => build("edge Worker", ars_workerd::build_edge_worker),
        Task::BuildResident => build("resident Worker", ars_workerd::build_resident_worker),
        Task::Configure(options) => configure::run(&options),
        Task::Image(options) => image::run(&options),
        Task::Drill { what } => drill::run(&what),
        Task::Bench { what } => bench::run(&what),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<up::Interrupted>() => ExitCode::from(INTERRUPTED),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn build(
    worker: &'static str,
    build: fn(ars_workerd::Progress<'_>) -> anyhow::Result<ars_workerd::Built>,
) -> anyhow::Result<()> {
    let step = terminal::Step::begin(worker);
    let built = build(&|line| step.update(line))?;
    step.done(&format!("{} kB compressed", built.gzip_bytes / 1000));
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Args;

    #[test]
    fn build_commands_of_the_workers_exist() {
        for configuration in [
            include_str!("../../workers/state/wrangler.toml"),
            include_str!("../../wrangler.toml"),
            include_str!("../../workers/resident/wrangler.toml"),
        ] {
            let line = configuration
                .lines()
                .find_map(|line| line.strip_prefix("command = \"cargo xtask "));
            let task = line.map(|rest| rest.trim_end_matches('"'));
            assert!(
                Args::command()
                    .get_subcommands()
                    .any(|known| Some(known.get_name()) == task),
                "{task:?}"
            );
        }
    }
}
