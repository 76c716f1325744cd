//! Plans for threads' commands and files, and for operations without a model.

use ars_types::StrictRefName;

use super::step::{FETCH_TIMEOUT_MS, Operation, PlanStep, Unprivileged, User, git};
use crate::layout::{MIRROR, op_checkout, op_dir, tree};
use crate::names::{ExecCommand, LockfileKey, Sha, StrictThreadKey, TableCommand, TreePath};
use crate::output::{HEAD_BYTES_MAX, READ_MAX_CHARS};
use crate::pool::PoolUser;
use crate::refusal::{Refusal, Token};

/// Timeout when an `/exec` command names none.
pub const EXEC_TIMEOUT_DEFAULT_MS: i64 = 300_000;
/// Shortest timeout for an `/exec` command.
const EXEC_TIMEOUT_MIN_MS: i64 = 1_000;
/// Longest timeout for an `/exec` command.
pub const EXEC_TIMEOUT_MAX_MS: i64 = 1_200_000;
/// Timeout for an operation without a model.
pub const OP_TIMEOUT_MS: i64 = 300_000;
/// Permissions for an operation's folder.
const PRIVATE_MODE: u32 = 0o700;
/// Permissions for a written file.
const FILE_MODE: u32 = 0o644;

/// Returns a command's timeout. A value that is no finite number counts as absent.
pub fn exec_timeout_ms(requested: Option<f64>) -> i64 {
    let bounds = (EXEC_TIMEOUT_MIN_MS as f64, EXEC_TIMEOUT_MAX_MS as f64);
    match requested.filter(|ms| ms.is_finite()) {
        // The bounds are whole numbers far below both types' limits.
        Some(ms) => ms.trunc().clamp(bounds.0, bounds.1) as i64,
        None => EXEC_TIMEOUT_DEFAULT_MS,
    }
}

/// Returns the step that runs a command in a thread's tree.
pub fn exec(
    thread: &StrictThreadKey,
    git_ref: &StrictRefName,
    user: PoolUser,
    command: ExecCommand,
    timeout_ms: i64,
) -> PlanStep {
    let cwd = tree(thread, git_ref);
    let operation = Operation::ExecCommand {
        user,
        command,
        cwd,
        head_bytes: HEAD_BYTES_MAX,
    };
    PlanStep::new("exec", User::pool(user), operation).within(timeout_ms)
}

/// Returns the step that reads a thread's file.
///
/// # Errors
/// An absolute path outside the tree is rejected.
pub fn read(
    thread: &StrictThreadKey,
    git_ref: &StrictRefName,
    user: PoolUser,
    path: &TreePath,
) -> Result<PlanStep, Refusal> {
    let path = resolve(thread, git_ref, path)?;
    Ok(PlanStep::new(
        "read",
        User::pool(user),
        Operation::ReadFile {
            path,
            max_chars: READ_MAX_CHARS,
        },
    ))
}

/// Returns the step that writes a thread's file.
///
/// # Errors
/// An absolute path outside the tree is rejected.
pub fn write(
    thread: &StrictThreadKey,
    git_ref: &StrictRefName,
    user: PoolUser,
    path: &TreePath,
) -> Result<PlanStep, Refusal> {
    let path = resolve(thread, git_ref, path)?;
    Ok(PlanStep::new(
        "write",
        User::pool(user),
        Operation::WriteFile {
            path,
            mode: FILE_MODE,
        },
    ))
}

fn resolve(
    thread: &StrictThreadKey,
    git_ref: &StrictRefName,
    path: &TreePath,
) -> Result<String, Refusal> {
    let outside = || Refusal::new(Token::PathEscape, "the path leads out of the tree");
    path.within(&tree(thread, git_ref)).ok_or_else(outside)
}

/// Returns the steps for an operation without a model, in a separate checkout. The last step
/// removes the checkout and runs in any case.
pub fn op(
    number: u64,
    sha: &Sha,
    user: PoolUser,
    command: &TableCommand,
    deps: Option<&LockfileKey>,
) -> Vec<PlanStep> {
    let owner = User::pool(user);
    let path = op_checkout(number);
    let dir = op_dir(number);
    // All branches, because a branch may have moved on from the commit; no branch has the threads'
    // saved work.
    let clone = git(
        MIRROR,
        &["clone", "--no-local", "--no-checkout", "--", MIRROR, &path],
    );
    let make = Operation::MakeDir {
        path: dir.clone(),
        mode: PRIVATE_MODE,
        owner: User::ROOT,
    };
    let mut steps = vec![
        PlanStep::root("op-dir", make),
        PlanStep::root("op-clone", clone)
            .within(FETCH_TIMEOUT_MS)
            .locked(),
        PlanStep::root(
            "op-chown",
            Operation::ChangeOwner {
                path: dir.clone(),
                owner,
            },
        ),
        PlanStep::new(
            "op-checkout",
            owner,
            git(&path, &["checkout", "--detach", sha.as_str(), "--"]),
        ),
    ];
    if let Some(key) = deps {
        let link = Operation::LinkDeps {
            key: key.clone(),
            tree: path.clone(),
            owner,
        };
        steps.push(
            PlanStep::root("deps-link", link)
                .within(FETCH_TIMEOUT_MS)
                .locked(),
        );
    }
    let run = Operation::TableCommand {
        user: Unprivileged::Pool(user),
        command: command.clone(),
        cwd: path,
    };
    steps.push(PlanStep::new("op-run", owner, run).within(OP_TIMEOUT_MS));
    steps.push(PlanStep::root(
        "op-remove",
        Operation::DiscardTree { path: dir },
    ));
    steps
}
