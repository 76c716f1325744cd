//! Every Worker as deployed, up to the upload: configuration, build command, bundle, and the image.

use std::process::Command;

use anyhow::{Result, ensure};
use ars_engine::{Engine, image_context};
use ars_workerd::{ensure_npm, repo_root};

use super::stage::stage;
use crate::terminal::Step;

/// The Workers' settings, in the order of a deployment.
const WORKERS: [(&str, &str); 2] =
    [("state Worker", "workers/state/wrangler.toml"), ("edge Worker", "wrangler.toml")];

/// Goes through them.
pub fn check() -> Result<()> {
    let step = Step::begin("the requirements of a deployment");
    let npm = ensure_npm(&|line| step.update(line))?;
    image_context(&|line| step.update(line))?;
    let engine = Engine::ensure(&|line| step.update(line))?;
    step.done("");
    for (name, settings) in WORKERS {
        let wrangler = |environment: &[&str]| {
            let mut wrangler = Command::new("node");
            wrangler.arg(&npm.wrangler).args(["deploy", "--dry-run", "--config", settings]).args(environment);
            wrangler.current_dir(repo_root());
            wrangler.env("WRANGLER_SEND_METRICS", "false").env("CI", "1");
            wrangler
                .env("WRANGLER_DOCKER_BIN", engine.command_line())
                .env("DOCKER_HOST", engine.docker_host());
            wrangler
        };
        stage(&format!("deployment, {name}"), &mut wrangler(&["--env", "production"]))?;
        let without = wrangler(&[]).output()?;
        ensure!(!without.status.success(), "{settings} can be deployed without naming an environment");
    }
    Ok(())
}
