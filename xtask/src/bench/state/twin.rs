//! The TypeScript twin, bundled into one module: `tests/bench/twin`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use ars_workerd::{NpmTools, repo_root};

use crate::bench::twin;

/// Its entry, from the root.
const ENTRY: &str = "tests/bench/twin/src/index.ts";

/// Bundles it into `modules`.
pub fn bundle(npm: &NpmTools, modules: &Path) -> Result<()> {
    twin::bundle(npm, ENTRY, modules)
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
