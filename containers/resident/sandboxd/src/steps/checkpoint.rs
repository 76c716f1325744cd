//! Checkpoints: the working tree as a commit below `refs/ars` of the mirror.
//!
//! Untracked files are part of it, ignored ones are not, and the tree with its index is unchanged: the commit is made
//! with a copy of the index. Tips of other local branches and stashes are further parents of it.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use ars_resident::daemon::{Answer, SavedCheckpoint, StepFailure, StepInput};
use ars_resident::layout::THREADS;
use ars_resident::names::Sha;
use ars_resident::plan::User;
use ars_resident::saved_work::{MESSAGE, NAMESPACE};
use cap_std::fs::Dir;

use super::{
    files::{read_whole, write_in},
    secrets, transfer,
};
use crate::{
    failure::{Context as _, Result, invalid},
    git::GitCall,
    runtime::Runtime,
    step::StepContext,
    stop::Stop,
    users,
};

/// Most unsaved branches and stashes of a checkpoint.
const OTHERS_MAX: usize = 1_000;
/// Name of the last stash.
const STASH: &str = "refs/stash";
/// Permissions of the copied index.
const INDEX_MODE: u32 = 0o600;

/// A checkpoint that exists.
struct Last {
    number: u64,
    sha: String,
    tree: String,
    parents: String,
}

/// Commit and tree of a working tree.
struct Content {
    head: String,
    head_tree: String,
    tree: String,
    withheld: Vec<String>,
}

/// Saves the work of a tree.
pub(super) async fn save(step: &StepContext<'_>, tree: &str) -> Result<Answer> {
    let user = User::Unprivileged(step.tree_user()?);
    let run = match &step.request.input {
        StepInput::Checkpoint { run: Some(run) } => run.as_str(),
        StepInput::Checkpoint { run: None } | StepInput::None => folder_of(tree)?,
        _ => return Err(invalid("a checkpoint takes a run")),
    };
    let namespace = format!("{NAMESPACE}/{run}");
    let real = step.runtime.places.real(tree)?;
    let (content, others, remotes, last) = tokio::try_join!(
        content(step, user, tree, &real),
        others(step, user, &real),
        transfer::remotes(step.runtime, user, &real, &step.stop),
        last(step.runtime, &namespace, &step.stop),
    )?;
    // No commit is needed but those of the thread, and no file was left out.
    let is_clean = content.tree == content.head_tree && others.is_empty() && content.withheld.is_empty();
    if is_clean && is_known(step, user, &real).await? {
        return Ok(Answer::Saved { checkpoint: None });
    }
    let parents: Vec<String> = std::iter::once(content.head.clone()).chain(others).collect();
    if let Some(last) = &last
        && last.tree == content.tree
        && (last.parents == parents.join(" ") || (is_clean && last.sha == content.head))
    {
        let git_ref = format!("{namespace}/{}", last.number);
        return saved(git_ref, &last.sha, false, content.withheld);
    }
    let sha = if is_clean {
        content.head.clone()
    } else {
        commit(step, user, &real, &content.tree, &parents).await?
    };
    transfer::to_mirror(step, user, &real, &sha, &remotes).await?;
    let git_ref = format!("{namespace}/{}", last.map_or(1, |last| last.number + 1));
    let call = GitCall::in_mirror(step.runtime, ["update-ref", &git_ref, &sha])?;
    call.run(step.runtime, &step.stop).await?.succeeded(step.runtime)?;
    saved(git_ref, &sha, true, content.withheld)
}

fn saved(git_ref: String, sha: &str, is_new: bool, withheld: Vec<String>) -> Result<Answer> {
    let sha = Sha::parse(sha).map_err(|error| invalid(error.to_string()))?;
    Ok(Answer::Saved { checkpoint: Some(SavedCheckpoint { git_ref, sha, is_new, withheld }) })
}

/// Returns the folder of a tree's thread, which a checkpoint without a run is named after.
fn folder_of(tree: &str) -> Result<&str> {
    let folder = tree.strip_prefix(THREADS).and_then(|rest| rest.trim_start_matches('/').split('/').next());
    folder.filter(|name| !name.is_empty()).ok_or_else(|| invalid("a checkpoint is of a thread's tree"))
}

/// Writes the tree object of the working tree with a copy of the index.
async fn content(step: &StepContext<'_>, user: User, tree: &str, real: &Path) -> Result<Content> {
    let runtime = step.runtime;
    let index = Index::copy(step, user, tree, real).await?;
    let call = |args: [&str; 2]| GitCall::in_tree(user, real, args).with_index(&index.real);
    let heads = GitCall::in_tree(user, real, ["rev-parse", "HEAD^{commit}", "HEAD^{tree}"]);
    let add = async {
        call(["add", "--all"]).run(runtime, &step.stop).await?.succeeded(runtime)?;
        let changed = secrets::changed(step, user, real, &index.real).await?;
        if let Some(name) = changed.iter().find_map(secrets::Changed::embedded) {
            return Err(invalid(format!(
                "{name} is a repository of its own, which a checkpoint cannot save"
            )));
        }
        secrets::withhold(step, user, real, &index.real, changed).await
    };
    let heads = async { heads.run(runtime, &step.stop).await?.succeeded(runtime) };
    let (withheld, heads) = tokio::try_join!(add, heads)?;
    let written = GitCall::in_tree(user, real, ["write-tree"]).with_index(&index.real);
    let written = written.run(runtime, &step.stop).await?.succeeded(runtime)?.text();
    let text = heads.text();
    let (head, head_tree) = text.split_once('\n').ok_or_else(|| invalid("the tree has no commit"))?;
    Ok(Content { head: head.to_owned(), head_tree: head_tree.to_owned(), tree: written, withheld })
}

/// Returns whether a remote branch or the mirror has the commit of a clean tree.
async fn is_known(step: &StepContext<'_>, user: User, real: &Path) -> Result<bool> {
    let arguments = ["rev-list", "--max-count=1", "HEAD", "--not", "--remotes"];
    let call = GitCall::in_tree(user, real, arguments);
    Ok(call.run(step.runtime, &step.stop).await?.succeeded(step.runtime)?.stdout.is_empty())
}

/// Returns the local branches and stashes that neither `HEAD` nor a remote branch contains.
async fn others(step: &StepContext<'_>, user: User, real: &Path) -> Result<Vec<String>> {
    let lines = async |args: [&str; 4]| {
        let output = GitCall::in_tree(user, real, args).run(step.runtime, &step.stop).await?;
        Ok::<_, StepFailure>(output.succeeded(step.runtime)?.text())
    };
    let heads = lines(["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", STASH]).await?;
    let mut tips: BTreeSet<String> =
        heads.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    if heads.lines().any(|line| line.ends_with(&format!(" {STASH}"))) {
        // Only the last stash has a ref. The earlier ones are its log.
        let stashes = lines(["reflog", "show", "--format=%H", STASH]).await?;
        tips.extend(stashes.lines().map(str::to_owned));
    }
    let names: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
    let call = GitCall::in_tree(user, real, ["rev-list", "--stdin", "--not", "HEAD", "--remotes"]);
    let call = call.with_input(secrets::input(step, names)?);
    let (ended, streams) = call.run_streams(step.runtime, &step.stop).await?;
    if ended.exit_code != 0 {
        return Err(invalid("the branches of the tree cannot be read"));
    }
    let unsaved = BufReader::new(streams.into_output().context("commits")?);
    let found = step
        .blocking(move |stop| {
            let mut found = Vec::new();
            for line in unsaved.lines() {
                stop.check()?;
                found.extend(tips.take(&line.context("commits")?));
            }
            Ok(found)
        })
        .await?;
    if found.len() > OTHERS_MAX {
        return Err(invalid(format!("more than {OTHERS_MAX} branches and stashes are unsaved")));
    }
    Ok(found)
}

async fn last(runtime: &Runtime, namespace: &str, stop: &Stop) -> Result<Option<Last>> {
    let format = "--format=%(refname) %(objectname) %(tree) %(parent)";
    let call = GitCall::in_mirror(runtime, ["for-each-ref", format, namespace])?;
    let text = call.run(runtime, stop).await?.succeeded(runtime)?.text();
    let parse = |line: &str| {
        let mut parts = line.splitn(4, ' ');
        let number = parts.next()?.rsplit('/').next()?.parse().ok()?;
        let mut next = || parts.next().map(str::to_owned);
        Some(Last { number, sha: next()?, tree: next()?, parents: next()? })
    };
    Ok(text.lines().filter_map(parse).max_by_key(|last| last.number))
}

async fn commit(
    step: &StepContext<'_>,
    user: User,
    real: &Path,
    tree: &str,
    parents: &[String],
) -> Result<String> {
    let arguments = ["commit-tree", "--no-gpg-sign", "-m", MESSAGE];
    let parents = parents.iter().flat_map(|parent| ["-p", parent]);
    let arguments = arguments.into_iter().chain(parents).chain([tree]).map(OsString::from).collect();
    let call = GitCall::new(user, real.to_owned(), arguments);
    Ok(call.run(step.runtime, &step.stop).await?.succeeded(step.runtime)?.text())
}

/// A copy of the index, beside it. It is removed when dropped.
struct Index {
    folder: Dir,
    path: PathBuf,
    real: PathBuf,
}

impl Index {
    async fn copy(step: &StepContext<'_>, user: User, tree: &str, real: &Path) -> Result<Self> {
        let name = format!(".git/ars-index-{}", uuid::Uuid::new_v4());
        let (folder, path) = step.runtime.places.in_tree(&format!("{tree}/{name}"))?;
        let owner = users::owner(&step.runtime.settings.mode, user);
        let index = Self { folder, path, real: real.join(&name) };
        step.blocking(move |_| {
            // With its times of files, so that only changed files are read again.
            let content = read_whole(&index.folder, Path::new(".git/index"))?;
            write_in(&index.folder, &index.path, &content, INDEX_MODE, owner)?;
            Ok(index)
        })
        .await
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // A remaining copy is a file that git ignores.
        let _ = self.folder.remove_file(&self.path);
    }
}
