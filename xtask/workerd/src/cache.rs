//! The cache for pinned tools, shared by checkouts, and the lock between two set-ups.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The cache: `$ARS_CACHE`, else `$XDG_CACHE_HOME/ars`, else `~/.cache/ars`.
pub fn cache_dir() -> Result<PathBuf> {
    choose(|name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    })
    .context("none of ARS_CACHE, XDG_CACHE_HOME and HOME is set: nowhere to keep tools")
}

fn choose(var: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    var("ARS_CACHE")
        .or_else(|| var("XDG_CACHE_HOME").map(|base| base.join("ars")))
        .or_else(|| var("HOME").map(|home| home.join(".cache/ars")))
}

/// Held while a set-up step runs; another process that wants the same step waits. Freed when dropped.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock on `dir`.
    pub(crate) fn acquire(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        let path = dir.join(".ars-setup.lock");
        let file =
            File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        file.lock()
            .with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_variable_takes_precedence() {
        let all = |name: &str| Some(PathBuf::from(format!("/{name}")));
        assert_eq!(choose(all), Some("/ARS_CACHE".into()));
        assert_eq!(
            choose(|n| (n != "ARS_CACHE").then(|| all(n)).flatten()),
            Some("/XDG_CACHE_HOME/ars".into())
        );
        assert_eq!(
            choose(|n| (n == "HOME").then(|| all(n)).flatten()),
            Some("/HOME/.cache/ars".into())
        );
        assert_eq!(choose(|_| None), None);
    }
}
