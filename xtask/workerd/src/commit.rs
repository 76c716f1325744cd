//! A build's commit.

use std::process::Command;

use crate::repo_root;

/// The checkout's commit; `-dirty` after it when the checkout differs. None without git.
pub fn commit() -> Option<String> {
    let commit = said(&["rev-parse", "HEAD"]).filter(|commit| !commit.is_empty())?;
    let changed = said(&["status", "--porcelain"]).is_some_and(|changes| !changes.is_empty());
    Some(if changed {
        format!("{commit}-dirty")
    } else {
        commit
    })
}

fn said(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(repo_root())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
