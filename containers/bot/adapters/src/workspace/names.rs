//! Files in a listing or search: those git does not ignore, or all without a usable repository.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use ars_bot_ports::WorkspaceError;
use tokio_util::sync::CancellationToken;

use super::{
    files::{Files, is_git},
    git::{CALL_TIMEOUT, Git, GitLimits},
};

/// Maximum file name bytes: some 400,000 files.
const NAMES_LIMIT: usize = 32 << 20;
/// Most files found by walking.
const WALK_LIMIT: usize = 100_000;

/// Names relative to the tree, in byte order.
pub(super) struct Names {
    pub(super) names: Vec<PathBuf>,
    /// The list is incomplete.
    pub(super) cut: bool,
}

/// Returns tracked and new files; `None` when the tree is not a git repository.
pub(super) async fn from_git(
    git: &Git<'_>,
    within: &Path,
) -> Result<Option<Names>, WorkspaceError> {
    let mut arguments = [
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "-z",
        "--",
    ]
    .map(OsStr::new)
    .to_vec();
    if within != Path::new(".") {
        arguments.push(within.as_os_str());
    }
    let limits = GitLimits {
        time: CALL_TIMEOUT,
        output: NAMES_LIMIT,
    };
    let answer = git.run_on_all(|| git.inside(&arguments), limits).await?;
    if answer.exit_code != 0 {
        return Ok(None);
    }
    let mut parts: Vec<&[u8]> = answer.output.split(|byte| *byte == 0).collect();
    // After the last separator the text is empty or an incomplete name.
    parts.pop();
    let mut names: Vec<_> = parts
        .into_iter()
        .map(|name| PathBuf::from(OsString::from_vec(name.to_vec())))
        .collect();
    sort(&mut names);
    // A file in conflict has several entries.
    names.dedup();
    Ok(Some(Names {
        names,
        cut: answer.dropped > 0,
    }))
}

/// Returns every file below, except git's own; symlinks are listed, not followed.
pub(super) fn from_walk(files: &Files, within: &Path, abandoned: &CancellationToken) -> Names {
    let mut names = Vec::new();
    let mut open = vec![within.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Some(entries) = files.entries(&folder) else {
            names.push(folder);
            continue;
        };
        for (path, is_folder) in entries {
            if names.len() >= WALK_LIMIT || abandoned.is_cancelled() {
                sort(&mut names);
                return Names { names, cut: true };
            }
            match path.file_name() {
                Some(name) if is_git(name) => {}
                _ if is_folder => open.push(path),
                _ => names.push(path),
            }
        }
    }
    sort(&mut names);
    Names { names, cut: false }
}

/// Sorts by bytes, as git does; paths compare by component by default.
fn sort(names: &mut [PathBuf]) {
    names.sort_unstable_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
}
