//! Runs a tool to the end, reports output as progress and keeps the last lines for the error.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::Progress;

/// Lines from a failed tool's output that the error repeats.
const TAIL_LINES: usize = 30;

/// Returns a cargo command without an outer cargo's variables. They would change the settings, and
/// build scripts that watch them would run again each time.
pub fn cargo(subcommand: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.arg(subcommand);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_MANIFEST_")
            || text == "CARGO_CRATE_NAME"
        {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Runs `command`; `what` names it in progress and errors.
pub fn run(mut command: Command, what: &str, progress: Progress<'_>) -> Result<()> {
    let (reader, writer) = std::io::pipe()?;
    command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut child = command
        .spawn()
        .with_context(|| format!("{what}: cannot start"))?;
    // The command keeps the pipe's write ends; the reader below would wait for them for ever.
    drop(command);

    let mut tail = VecDeque::with_capacity(TAIL_LINES);
    for line in BufReader::new(reader).lines() {
        // Output that is not UTF-8 is skipped.
        let Ok(line) = line else { continue };
        progress(&format!("{what}: {}", line.trim()));
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(line);
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{what} failed ({status})\n{}", Vec::from(tail).join("\n"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn failure_repeats_the_output() {
        let seen = RefCell::new(Vec::new());
        let mut command = Command::new("ls");
        command.arg("/definitely/not/here");
        let error = run(command, "listing", &|line| {
            seen.borrow_mut().push(line.to_owned());
        })
        .unwrap_err();
        assert!(
            error.to_string().contains("/definitely/not/here"),
            "{error}"
        );
        assert!(seen.borrow()[0].starts_with("listing: "));
    }

    #[test]
    fn a_tool_that_is_missing_is_named() {
        let error = run(Command::new("/no/such/tool"), "the tool", &|_| ()).unwrap_err();
        assert!(error.to_string().contains("the tool"));
    }
}
