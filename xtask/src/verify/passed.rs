//! The commit that passed every stage with a clean tree, in a cache file. Not the stages.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

const FILE: &str = "passed";

/// Returns a folder's commit, or `None` if a file differs from the commit.
pub fn clean_commit(folder: &Path) -> Result<Option<String>> {
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(folder)
            .output()
            .context("git")?;
        ensure!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let is_clean = git(&["status", "--porcelain"])?.is_empty();
    Ok(if is_clean {
        Some(git(&["rev-parse", "HEAD"])?)
    } else {
        None
    })
}

/// Writes the commit, if the tree had it from the first stage to the last.
pub fn note(before: &String, folder: &Path, cache: &Path) -> Result<()> {
    let Some(commit) = clean_commit(folder)?.filter(|after| after == before) else {
        return Ok(());
    };
    fs::create_dir_all(cache)
        .and_then(|()| fs::write(cache.join(FILE), commit + "\n"))
        .context(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clean_commit_is_noted() {
        let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
            let done = Command::new("git")
                .args(identity)
                .args(arguments)
                .current_dir(folder.path())
                .status();
            assert!(done.unwrap().success(), "{arguments:?}");
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        let before = clean_commit(folder.path()).unwrap().unwrap();
        fs::write(folder.path().join("new"), "").unwrap();
        note(&before, folder.path(), cache.path()).unwrap();
        assert!(!cache.path().join(FILE).exists());
        fs::remove_file(folder.path().join("new")).unwrap();
        note(&before, folder.path(), cache.path()).unwrap();
        assert_eq!(
            fs::read_to_string(cache.path().join(FILE)).unwrap().trim(),
            before
        );
    }
}
