//! The TypeScript twin, bundled into one module: `tests/bench/twin`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ars_workerd::{NpmTools, repo_root};

/// Its entry, from the root.
const ENTRY: &str = "tests/bench/twin/src/index.ts";
/// What it is bundled into; the name that workerd's configuration expects.
const MODULE: &str = "index.js";

/// Bundles it into `modules`; the migrations go in as the text of their files.
pub fn bundle(npm: &NpmTools, modules: &Path) -> Result<()> {
    fs::create_dir_all(modules)?;
    let output = Command::new(&npm.esbuild)
        .arg(ENTRY)
        .args(["--bundle", "--minify", "--format=esm", "--target=esnext", "--log-level=warning"])
        .args(["--loader:.sql=text", "--external:cloudflare:*"])
        .arg(format!("--outfile={}", modules.join(MODULE).display()))
        .current_dir(repo_root())
        .output()
        .context("esbuild cannot be started")?;
    ensure!(output.status.success(), "esbuild: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// The classes the twin has: those that its entry exports.
pub fn classes() -> Result<Vec<String>> {
    let entry = fs::read_to_string(repo_root().join(ENTRY)).context(ENTRY)?;
    let exports = entry.lines().filter_map(|line| line.strip_prefix("export { ")?.split_once(" }"));
    Ok(exports.map(|(name, _)| name.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_the_twin_is_one_of_the_state_workers() {
        let path = ars_workerd::state_worker_dir().join("wrangler.toml");
        let known = ars_workerd::Wrangler::read(&path).unwrap().objects;
        let classes = classes().unwrap();
        assert!(!classes.is_empty());
        assert!(classes.iter().all(|class| known.iter().any(|object| object.class == *class)), "{classes:?}");
    }
}
