//! Changes in a thread's tree since its start.
//!
//! Git compares the files on disk with the first commit through a separate index and a separate
//! repository, which reads the objects in the tree's own: the agent's staged changes stay
//! untouched, no content is written to that repository, and no filter or other program that its
//! configuration names is run. For a repository inside the tree only the commit is read, because
//! its changes are found by the programs that its own configuration names.

use std::{fs, io};

use ars_bot_ports::WorkspaceError;

use super::git::{CALL_TIMEOUT, Git, GitLimits, INDEX, SHORT, make_bare};

/// Git's name for a tree without files.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// Prefix for the separate repository's name, in the workspace's folder.
const PREFIX: &str = ".diff-";
/// Maximum diff size in bytes.
const DIFF_LIMIT: usize = 1 << 20;
/// The file with the compared paths, in the separate repository.
const COMPARED: &str = "compared";
/// Mode for a repository in an index.
const REPOSITORY_MODE: &[u8] = b"160000 ";
/// Git's exit code when it skipped a path, such as a repository without commits inside the tree.
const PASSED_OVER: i32 = 1;

/// Returns committed, uncommitted and new changes against `base` as a unified diff.
/// Binary files are only named.
pub(super) async fn since(git: &Git<'_>, base: Option<&str>) -> Result<String, WorkspaceError> {
    let failed = |error: io::Error| WorkspaceError::Infra(format!("temporary folder: {error}"));
    let folder = tempfile::Builder::new()
        .prefix(PREFIX)
        .tempdir_in(git.place)
        .map_err(failed)?;
    let reader = folder.path();
    make_bare(reader).map_err(failed)?;
    let own = git.place.join("tree/.git");
    let exclude = format!("core.excludesFile={}", own.join("info/exclude").display());
    let call = async |arguments: &[&str], limits| {
        let program = || {
            let mut program =
                git.with_repository(reader, &[&["-c", exclude.as_str()], arguments].concat());
            program
                .command
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", own.join("objects"));
            program
        };
        git.run_on_all(program, limits).await
    };
    let head = git.head().await?;
    // From the tree's current commit, so that committed files are included even if they match an ignore rule.
    call(&["read-tree", head.as_deref().unwrap_or("--empty")], SHORT)
        .await?
        .succeeded()?;
    let index = call(&["ls-files", "--stage", "-z"], INDEX)
        .await?
        .succeeded()?;
    if index.dropped > 0 {
        return Err(WorkspaceError::Infra(
            "the tree has too many files to compare".into(),
        ));
    }
    let paths = reader.join(COMPARED);
    fs::write(&paths, compared_paths(&index.output)).map_err(failed)?;
    let paths = format!("--pathspec-from-file={}", paths.display());
    // Names only: new files are compared on disk and not copied to the object store.
    let add = [
        "--no-literal-pathspecs",
        "add",
        "--intent-to-add",
        "--ignore-errors",
    ];
    let added = call(
        &[&add[..], &["--pathspec-file-nul", paths.as_str()]].concat(),
        SHORT,
    )
    .await?;
    if added.exit_code != PASSED_OVER {
        added.succeeded()?;
    }
    let arguments = [
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--submodule=short",
        "--ignore-submodules=dirty",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        base.unwrap_or(EMPTY_TREE),
        "--",
    ];
    let answer = call(
        &arguments,
        GitLimits {
            time: CALL_TIMEOUT,
            output: DIFF_LIMIT,
        },
    )
    .await?
    .succeeded()?;
    Ok(readable(answer.output, answer.dropped))
}

/// Returns the whole tree's paths except tracked repositories inside it, separated by zero bytes.
/// Git would look for changes in those.
fn compared_paths(index: &[u8]) -> Vec<u8> {
    let mut paths = b".\0".to_vec();
    for entry in index
        .split(|byte| *byte == 0)
        .filter(|entry| entry.starts_with(REPOSITORY_MODE))
    {
        if let Some(tab) = entry.iter().position(|byte| *byte == b'\t') {
            paths.extend_from_slice(b":(exclude,literal)");
            paths.extend_from_slice(&entry[tab + 1..]);
            paths.push(0);
        }
    }
    paths
}

/// Ends a cut diff with the last complete line and the missing byte count.
fn readable(mut bytes: Vec<u8>, mut dropped: u64) -> String {
    if dropped > 0 {
        let kept = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1);
        dropped += (bytes.len() - kept) as u64;
        bytes.truncate(kept);
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if dropped > 0 {
        text.push_str(&format!(
            "[… {dropped} more bytes of this diff are not shown …]\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{compared_paths, readable};

    #[test]
    fn tracked_repositories_are_not_compared() {
        let index = b"100644 78 0\ta\x00160000 9b 0\tb c\x00100644 16 0\t160000 \x00";
        assert_eq!(compared_paths(index), b".\0:(exclude,literal)b c\0");
    }

    #[test]
    fn cut_diff_ends_with_a_complete_line() {
        assert_eq!(readable(b"+a\n+b\n".to_vec(), 0), "+a\n+b\n");
        assert_eq!(
            readable(b"+a\n+bcd".to_vec(), 5),
            "+a\n[… 9 more bytes of this diff are not shown …]\n"
        );
    }
}
