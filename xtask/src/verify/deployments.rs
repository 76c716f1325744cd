//! Every Worker as deployed, up to the upload: configuration, build command, bundle, bot image.
//!
//! Not here: the resident image. It begins at public images, which not every machine reaches;
//! `tests/residents` builds its first stage.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ars_engine::{Engine, image_context};
use ars_workerd::{ensure_npm, repo_root};

use super::stage::stage;
use crate::terminal::Step;

/// The Workers' settings, in deployment order.
const WORKERS: [(&str, &str); 3] = [
    ("state Worker", "workers/state/wrangler.toml"),
    ("edge Worker", "wrangler.toml"),
    ("resident Worker", RESIDENT_COPY),
];
/// The resident Worker's settings.
const RESIDENT: &str = "workers/resident/wrangler.toml";
/// Those with an image that exists already.
const RESIDENT_COPY: &str = "workers/resident/wrangler.dry-run.toml";
/// The lines that name the image file and its context.
const IMAGE_LINES: [&str; 2] = ["image =", "image_build_context ="];
/// A reference in place of the file. A dry run does not look it up.
const BUILT_IMAGE: &str = "image = \"registry.cloudflare.com/ars-resident:0\"";

/// Checks each Worker in turn.
pub fn check() -> Result<()> {
    let step = Step::begin("the requirements of a deployment");
    let npm = ensure_npm(&|line| step.update(line))?;
    image_context(&|line| step.update(line))?;
    let engine = Engine::ensure(&|line| step.update(line))?;
    copy_with_built_image()?;
    step.done("");
    let checked = deploy(&npm.wrangler, &engine);
    fs::remove_file(repo_root().join(RESIDENT_COPY))?;
    checked
}

fn deploy(program: &Path, engine: &Engine) -> Result<()> {
    for (name, settings) in WORKERS {
        let wrangler = |environment: &[&str]| {
            let mut wrangler = Command::new("node");
            wrangler
                .arg(program)
                .args(["deploy", "--dry-run", "--config", settings])
                .args(environment);
            wrangler.current_dir(repo_root());
            wrangler
                .env("WRANGLER_SEND_METRICS", "false")
                .env("CI", "1");
            wrangler
                .env("WRANGLER_DOCKER_BIN", engine.command_line())
                .env("DOCKER_HOST", engine.docker_host());
            wrangler
        };
        stage(
            &format!("deployment, {name}"),
            &mut wrangler(&["--env", "production"]),
        )?;
        let without = wrangler(&[]).output()?;
        ensure!(
            !without.status.success(),
            "{settings} can be deployed without naming an environment"
        );
    }
    Ok(())
}

/// Writes the resident Worker's settings with a built image. They lie beside the original, because
/// paths in them are relative.
fn copy_with_built_image() -> Result<()> {
    let text = fs::read_to_string(repo_root().join(RESIDENT)).context(RESIDENT)?;
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !IMAGE_LINES.iter().any(|key| line.starts_with(key)))
        .collect();
    let class = lines
        .iter()
        .position(|line| *line == "[[env.production.containers]]");
    let class = class.with_context(|| format!("{RESIDENT} has no container"))?;
    ensure!(
        lines.len() + IMAGE_LINES.len() == text.lines().count(),
        "{RESIDENT} names its image differently"
    );
    let (before, after) = lines.split_at(class + 1);
    let copy = [before, &[BUILT_IMAGE], after].concat().join("\n");
    fs::write(repo_root().join(RESIDENT_COPY), copy + "\n").context(RESIDENT_COPY)
}
