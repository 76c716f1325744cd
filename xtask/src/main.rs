//! `cargo xtask`: sets up, starts, checks and measures the project.
//!
//! Needs nothing but what README.md lists; everything else it installs, pinned. It knows the service only from
//! outside: it starts processes and speaks HTTP, so it compiles in seconds and cannot reach around an interface.
#![forbid(unsafe_code)]

mod bench;
mod cargo;
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
    /// Check what takes seconds: format, lints, the rules of the tree
    Check,
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
