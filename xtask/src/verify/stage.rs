//! A single stage: announced, run in view, timed, and named when it fails.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Runs a stage to the end.
pub fn stage(name: &str, command: &mut Command) -> Result<()> {
    let began = Instant::now();
    last_stage(name, command)?;
    eprintln!("✓ {name} ({:.1} s)", began.elapsed().as_secs_f64());
    Ok(())
}

/// Runs the last stage; its own last line is also printed last.
pub fn last_stage(name: &str, command: &mut Command) -> Result<()> {
    eprintln!("\n▸ {name}");
    let status = command
        .status()
        .with_context(|| format!("stage `{name}` cannot be started"))?;
    if !status.success() {
        bail!("stage `{name}` failed ({status})");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_stage_is_named() {
        let error = stage("nothing", &mut Command::new("false")).unwrap_err();
        assert!(error.to_string().contains("`nothing` failed"), "{error}");
        assert!(stage("all", &mut Command::new("true")).is_ok());
    }

    #[test]
    fn a_stage_whose_program_is_missing_is_named() {
        let error = stage("ghost", &mut Command::new("/no/such/program")).unwrap_err();
        assert!(error.to_string().contains("`ghost`"), "{error}");
    }
}
