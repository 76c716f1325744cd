//! Checks out the branch, tag or commit that a new tree starts from. Not here: the clone
//! (`making`).
//!
//! Names are resolved explicitly, so that a branch precedes a tag with the same name, as for `git
//! clone --branch`.

use ars_bot_ports::WorkspaceError;
use ars_types::RefName;

use super::git::{CLONE_TIMEOUT, Git, GitLimits, SHORT};

/// Prefix for the origin's branches in a clone.
const ORIGIN: &str = "refs/remotes/origin/";
const HEADS: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";
/// The default branch's name, which a clone has checked out.
const HEAD: &str = "HEAD";
/// Digits in a commit id. Such a name is never a branch, as for git.
const COMMIT_DIGITS: [usize; 2] = [40, 64];
/// Maximum origin branches that an error names.
const MAX_BRANCHES_NAMED: usize = 10;

/// A ref that was found.
enum FoundStart<'a> {
    /// A branch at the origin.
    Branch(&'a str),
    /// A tag or a commit, as the commit id.
    Commit(String),
}

/// Checks out a ref in the clone of `origin`, or leaves it at the default branch.
///
/// # Errors
/// The ref does not exist, or the origin has branches and the default branch is not among them.
pub(super) async fn check_out(
    git: &Git<'_>,
    origin: &str,
    git_ref: Option<&RefName>,
) -> Result<(), WorkspaceError> {
    let Some(git_ref) = git_ref
        .map(RefName::as_str)
        .filter(|git_ref| *git_ref != HEAD)
    else {
        return must_have_commit(git, origin).await;
    };
    let remote;
    let commit;
    let arguments = match find(git, git_ref).await? {
        Some(FoundStart::Branch(branch)) => {
            remote = format!("{ORIGIN}{branch}");
            vec![
                "checkout",
                "--quiet",
                "-B",
                branch,
                "--track",
                remote.as_str(),
                "--",
            ]
        }
        Some(FoundStart::Commit(found)) => {
            commit = found;
            vec!["checkout", "--quiet", "--detach", commit.as_str(), "--"]
        }
        None => {
            let known = branches(git).await?;
            return Err(WorkspaceError::Clone(format!(
                "`ref` names no branch, tag or commit of {origin}: {git_ref}. {known}"
            )));
        }
    };
    let answer = git
        .run(
            git.inside(&arguments),
            GitLimits {
                time: CLONE_TIMEOUT,
                ..SHORT
            },
        )
        .await?;
    if answer.exit_code == 0 {
        return Ok(());
    }
    let words = answer.own_words();
    Err(WorkspaceError::Clone(format!(
        "{git_ref} could not be checked out: {words}"
    )))
}

async fn find<'a>(git: &Git<'_>, name: &'a str) -> Result<Option<FoundStart<'a>>, WorkspaceError> {
    let is_id =
        COMMIT_DIGITS.contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id && !name.starts_with(TAGS) {
        for branch in [Some(name), name.strip_prefix(HEADS)].into_iter().flatten() {
            if commit(git, &format!("{ORIGIN}{branch}")).await?.is_some() {
                return Ok(Some(FoundStart::Branch(branch)));
            }
        }
        if let Some(found) = commit(git, &format!("{TAGS}{name}")).await? {
            return Ok(Some(FoundStart::Commit(found)));
        }
    }
    Ok(commit(git, name).await?.map(FoundStart::Commit))
}

/// Returns the commit that a name means.
async fn commit(git: &Git<'_>, name: &str) -> Result<Option<String>, WorkspaceError> {
    let name = format!("{name}^{{commit}}");
    let answer = git
        .run(
            git.inside(&[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &name,
            ]),
            SHORT,
        )
        .await?;
    let text = || String::from_utf8_lossy(&answer.output).trim().to_owned();
    Ok((answer.exit_code == 0).then(text))
}

/// Rejects a clone without a commit if the origin has branches. Git itself only warns.
async fn must_have_commit(git: &Git<'_>, origin: &str) -> Result<(), WorkspaceError> {
    if git.head().await?.is_some() {
        return Ok(());
    }
    let known = branches(git).await?;
    if known.is_empty() {
        // A repository without commits.
        return Ok(());
    }
    Err(WorkspaceError::Clone(format!(
        "the default branch of {origin} does not exist: its HEAD names a missing branch. Name a branch with `ref:`, or \
         repair the HEAD of the repository. {known}"
    )))
}

/// Returns a sentence about the origin's branches; empty if it has none.
async fn branches(git: &Git<'_>) -> Result<String, WorkspaceError> {
    let count = format!("--count={}", MAX_BRANCHES_NAMED + 1);
    let format = "--format=%(refname:strip=3)";
    let listing = git.inside(&[
        "for-each-ref",
        "--sort=-committerdate",
        &count,
        format,
        ORIGIN,
    ]);
    let output = git.run(listing, SHORT).await?.succeeded()?.output;
    let text = String::from_utf8_lossy(&output);
    let mut names: Vec<&str> = text
        .lines()
        .filter(|name| *name != HEAD && RefName::parse(*name).is_ok())
        .collect();
    if names.is_empty() {
        return Ok(String::new());
    }
    let more = if names.len() > MAX_BRANCHES_NAMED {
        " and more"
    } else {
        ""
    };
    names.truncate(MAX_BRANCHES_NAMED);
    Ok(format!("Its branches: {}{more}.", names.join(", ")))
}
