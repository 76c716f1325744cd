//! `ars completions <shell>`.

use std::process::ExitCode;

use super::Failure;
use crate::{
    args::{Completions, command_line},
    terminal,
};

/// Prints the script.
pub fn run(args: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_line(), "ars", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
