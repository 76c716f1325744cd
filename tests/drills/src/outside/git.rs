//! A small repository.

use std::path::{Path, PathBuf};

/// Creates the repository in `folder`.
pub fn project(folder: &Path) -> PathBuf {
    let project = folder.join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("README.md"), "# An app\n\nIt greets.\n").unwrap();
    git(&project, &["init", "-q"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "first"]);
    // Lets clients fetch it over plain HTTP.
    git(&project, &["update-server-info"]);
    project
}

fn git(directory: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"];
    let status =
        std::process::Command::new("git").args(identity).args(arguments).current_dir(directory).status();
    assert!(status.unwrap().success(), "{arguments:?}");
}
