//! A small repository.

use std::path::{Path, PathBuf};

/// Creates the repository in `folder`, with more files if there are any.
pub fn project(folder: &Path, files: &[(&str, String)]) -> PathBuf {
    let project = folder.join("project");
    std::fs::create_dir(&project).unwrap();
    let readme = ("README.md", "# An app\n\nIt greets.\n".to_owned());
    for (name, text) in files.iter().chain([&readme]) {
        let path = project.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    git(&project, &["init", "-q"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "first"]);
    // Lets clients fetch it over plain HTTP.
    git(&project, &["update-server-info"]);
    project
}

fn git(directory: &Path, arguments: &[&str]) {
    let identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@localhost",
        "-c",
        "init.defaultBranch=main",
    ];
    let status = std::process::Command::new("git")
        .args(identity)
        .args(arguments)
        .current_dir(directory)
        .status();
    assert!(status.unwrap().success(), "{arguments:?}");
}
