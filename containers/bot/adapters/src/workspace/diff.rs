//! The changes in a thread's tree since its start.
//!
//! Git compares the files on disk with the first commit through a separate index and a separate repository, which reads
//! the objects of the tree's own: the agent's staged changes stay untouched, no content is written to its repository,
//! and no filter or other program that its configuration names is run.

use std::io;

use ars_bot_ports::WorkspaceError;

use super::git::{CALL_TIMEOUT, Git, Limits, SHORT, make_bare};

/// Git's name for a tree without files.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// The prefix of the name of the separate repository, in the workspace's folder.
const PREFIX: &str = ".diff-";
/// Most bytes of a diff.
const DIFF_LIMIT: usize = 1 << 20;
/// Git's exit code when it skipped a path, such as a repository without commits inside the tree.
const PASSED_OVER: i32 = 1;

/// Returns committed, uncommitted and new changes against `base` as a unified diff.
/// Binary files are only named.
pub(super) async fn since(git: &Git<'_>, base: Option<&str>) -> Result<String, WorkspaceError> {
    let failed = |error: io::Error| WorkspaceError::Infra(format!("temporary folder: {error}"));
    let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(git.place).map_err(failed)?;
    let reader = folder.path();
    make_bare(reader).map_err(failed)?;
    let own = git.place.join("tree/.git");
    let exclude = format!("core.excludesFile={}", own.join("info/exclude").display());
    let call = async |arguments: &[&str], limits| {
        let mut program = git.with_repository(reader, &[&["-c", exclude.as_str()], arguments].concat());
        program.command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", own.join("objects"));
        git.run(program, limits).await
    };
    let head = git.head().await?;
    // From the tree's current commit, so that committed files are included even if they match an ignore rule.
    call(&["read-tree", head.as_deref().unwrap_or("--empty")], SHORT).await?.succeeded()?;
    // Names only: new files are compared on disk and not copied to the object store.
    let added = call(&["add", "--intent-to-add", "--ignore-errors", "--", "."], SHORT).await?;
    if added.exit_code != PASSED_OVER {
        added.succeeded()?;
    }
    let arguments = [
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--submodule=short",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        base.unwrap_or(EMPTY_TREE),
        "--",
    ];
    let answer = call(&arguments, Limits { time: CALL_TIMEOUT, output: DIFF_LIMIT }).await?.succeeded()?;
    Ok(readable(answer.output, answer.dropped))
}

/// Ends a cut diff with its last complete line and the number of missing bytes.
fn readable(mut bytes: Vec<u8>, mut dropped: u64) -> String {
    if dropped > 0 {
        let kept = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        dropped += (bytes.len() - kept) as u64;
        bytes.truncate(kept);
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if dropped > 0 {
        text.push_str(&format!("[… {dropped} more bytes of this diff are not shown …]\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn cut_diff_ends_with_a_complete_line() {
        assert_eq!(readable(b"+a\n+b\n".to_vec(), 0), "+a\n+b\n");
        assert_eq!(readable(b"+a\n+bcd".to_vec(), 5), "+a\n[… 9 more bytes of this diff are not shown …]\n");
    }
}
