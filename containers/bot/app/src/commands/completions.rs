//! `ars completions <shell>`.

use std::process::ExitCode;

use clap::CommandFactory as _;

use super::Failure;
use crate::{
    args::{Args, Completions},
    terminal,
};

/// Prints the script.
pub fn run(args: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "ars", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
