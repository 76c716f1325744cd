//! `ars completions <shell>`.

use std::process::ExitCode;

use ars_bot_core::commands::catalogue;

use super::Failure;
use crate::{
    args::{Completions, command_line},
    terminal,
};

/// Prints the script. It has every command, because it outlives the configuration.
pub fn run(args: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut command_line(&catalogue()),
        "ars",
        &mut script,
    );
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
