//! One stage: announced, run in view, and named when it fails.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Runs a stage to its end.
pub fn stage(name: &str, command: &mut Command) -> Result<()> {
    eprintln!("\n▸ {name}");
    let status = command.status().with_context(|| format!("stage `{name}` cannot be started"))?;
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
