//! Runs the checks in order and prints their findings.

use std::{process::ExitCode, sync::Arc};

use ars_auth::{ParsedTokens, TokenMap};
use ars_bot_adapters::sandbox::SandboxSettings;

use super::{cgroup, checks, remote};
use crate::{
    args::Doctor,
    commands::Failure,
    compose,
    config::File,
    environment::{self, name},
    finding::{Finding, State},
    logging,
    surfaces::{self, Sources},
    terminal,
};

/// Checks the installation. The exit code is 1 if a check failed.
pub async fn run(args: Doctor) -> Result<ExitCode, Failure> {
    if let Some(url) = &args.server {
        return report(&remote::checks(url).await?, args.json);
    }
    let mut findings = Vec::new();
    // Without a valid configuration the defaults are tried out.
    let mut needs_trees = false;
    let mut workspaces = compose::workspaces(&std::env::temp_dir(), SandboxSettings::default());
    let tokens = TokenMap::parse(environment::variable(name::INGRESS_TOKENS).as_deref());
    match compose::plan(args.setup, &tokens, args.state_url.as_deref()).await {
        Ok(plan) => {
            logging::start(Arc::clone(&plan.redactor), logging::Level::Errors);
            findings.push(Finding::ok("configuration", "valid"));
            findings.push(checks::keys(&plan));
            if args.call_model {
                findings.push(checks::model(&plan).await);
            }
            workspaces = plan.workspaces();
            needs_trees = checks::needs_trees(&plan.settings);
            findings.push(checks::code_host(plan.code_host.as_ref()).await);
            findings.push(checks::store(&plan, args.state_url).await);
            findings.extend(checks::repositories(&plan.settings));
            findings.extend(checks::secrets(&plan));
            findings.extend(plan.tree_folder.as_deref().map(checks::tree_folder));
            findings.extend(plan.surfaces.check().await);
        }
        Err(failure) => {
            let mend = "correct the named key or variable (docs/ars.example.toml shows every key); \
                        the checks of models, code host and store need a valid configuration";
            findings.push(Finding::failure("configuration", failure.message(), mend));
            findings.extend(default_surfaces(&tokens).await);
        }
    }
    findings.push(checks::git().await);
    let workspaces = Arc::new(workspaces);
    findings.push(checks::sandbox(&workspaces, needs_trees).await);
    findings.extend(cgroup::of_runs(&workspaces));
    findings.push(cgroup::check());
    report(&findings, args.json)
}

/// Checks the surfaces without a configuration file.
async fn default_surfaces(tokens: &ParsedTokens) -> Vec<Finding> {
    let sources = Sources {
        file: &File::default(),
        tokens,
        variable: &environment::variable,
    };
    match surfaces::read(sources) {
        Ok(surfaces) => surfaces.check().await,
        Err(_) => Vec::new(),
    }
}

/// Prints the findings as text or JSON.
fn report(findings: &[Finding], as_json: bool) -> Result<ExitCode, Failure> {
    for finding in findings {
        let line = if as_json {
            format!("{}\n", serde_json::to_string(finding)?)
        } else {
            finding.lines()
        };
        terminal::print(&line)?;
    }
    let has_failed = findings
        .iter()
        .any(|finding| finding.state == State::Failure);
    Ok(if has_failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
