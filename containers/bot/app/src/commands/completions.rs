//! `ars completions <shell>`.

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::args::{Args, Completions};

/// Prints the script.
pub fn run(args: &Completions) -> ExitCode {
    clap_complete::generate(args.shell, &mut Args::command(), "ars", &mut std::io::stdout());
    ExitCode::SUCCESS
}
