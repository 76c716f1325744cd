//! Bundles a Worker in TypeScript that one of ours is compared with (`tests/bench`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ars_workerd::{NpmTools, repo_root};

/// What it is bundled into; the name that workerd's configuration expects.
const MODULE: &str = "index.js";

/// Bundles the Worker of this entry, named from the root, into `modules`; migrations go in as the text of their files.
pub fn bundle(npm: &NpmTools, entry: &str, modules: &Path) -> Result<()> {
    fs::create_dir_all(modules)?;
    let output = Command::new(&npm.esbuild)
        .arg(entry)
        .args(["--bundle", "--minify", "--format=esm", "--target=esnext", "--log-level=warning"])
        .args(["--loader:.sql=text", "--external:cloudflare:*"])
        .arg(format!("--outfile={}", modules.join(MODULE).display()))
        .current_dir(repo_root())
        .output()
        .context("esbuild cannot be started")?;
    ensure!(output.status.success(), "esbuild: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
