//! The modules of a Worker under measurement, which must not change when it is built anew meanwhile.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Keeps a Worker as it was built.
pub fn copy_modules(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for name in ["index.js", "index_bg.wasm"] {
        fs::copy(from.join(name), to.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    Ok(())
}
