//! Checkpoints: the working tree as a commit below `refs/ars` of the mirror.
//!
//! Untracked files are part of it, ignored ones are not, and the tree with its index is unchanged: the commit is made
//! with a copy of the index. Tips of other local branches and stashes are further parents of it.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io::{BufRead as _, BufReader},
    path::Path,
};

use ars_resident::daemon::{Answer, SavedCheckpoint, StepInput};
use ars_resident::layout::THREADS;
use ars_resident::names::Sha;
use ars_resident::plan::User;
use ars_resident::saved_work::{MESSAGE, NAMESPACE};
use cap_std::fs::Dir;

use super::{
    beside, hidden,
    quick::{self, Quick},
    secrets, transfer,
};
use crate::{
    failure::{Context as _, Result, invalid},
    footprint::{Footprint, WatchedTree},
    git::GitCall,
    kept::{Index, Kept, Known, Saved},
    runtime::Runtime,
    step::StepContext,
    stop::Stop,
};

/// Most unsaved branches and stashes of a checkpoint.
const OTHERS_MAX: usize = 1_000;
/// Name of the last stash.
const STASH: &str = "refs/stash";

/// A checkpoint that exists.
#[derive(Clone)]
struct Last {
    number: u64,
    sha: String,
    tree: String,
    parents: String,
}

/// The working tree as objects of its repository.
struct Content {
    index: Index,
    head: String,
    head_tree: String,
    tree: String,
    changed: Vec<secrets::Changed>,
    /// The lines of `git add --verbose`.
    added: Vec<u8>,
    /// The index hid files.
    has_hidden: bool,
}

/// Refs of a tree.
struct Refs {
    /// Commits of remote branches, which came from the mirror or the code host.
    remotes: Vec<String>,
    /// Commits of local branches other than the current one.
    branches: BTreeSet<String>,
    has_stash: bool,
}

/// The way to save a working tree.
enum CheckpointPlan {
    /// Neither a change nor a commit of its own.
    Nothing,
    /// The last checkpoint has it.
    Same(Last),
    /// `HEAD` is its commit.
    Head,
    Commit,
}

/// Returns the refs of the run that the request names, or of the tree.
fn namespace(step: &StepContext<'_>, tree: &str) -> Result<String> {
    let run = match &step.request.input {
        StepInput::Checkpoint { run: Some(run) } => run.as_str(),
        StepInput::Checkpoint { run: None } | StepInput::None => folder_of(tree)?,
        _ => return Err(invalid("a checkpoint takes a run")),
    };
    Ok(format!("{NAMESPACE}/{run}"))
}

/// The state that a plan is made for.
struct SavedState {
    content: Content,
    others: Vec<String>,
    last: Option<Last>,
    withheld: Vec<String>,
}

/// Saves the work of a tree.
pub(super) async fn save(step: &StepContext<'_>, tree: &str) -> Result<Answer> {
    let user = User::Unprivileged(step.tree_user()?);
    let namespace = namespace(step, tree)?;
    let real = step.runtime.places.real(tree)?;
    match quick::save(step, user, (tree, &real), &namespace).await? {
        Some(Quick::Nothing) => return Ok(Answer::Saved { checkpoint: None }),
        Some(Quick::Saved { last, is_new }) => {
            return saved(last.git_ref(), &last.sha, is_new, Vec::new());
        }
        None => {}
    }
    let folder = Dir::from(step.runtime.places.open_dir(tree)?);
    // A later change of refs or index counts for the next checkpoint.
    let footprint = step.blocking(move |_| Ok(Footprint::read(&folder))).await?;
    let refs = async {
        let refs = refs(step, user, &real).await?;
        tokio::try_join!(
            others(step, user, &real, &refs),
            transfer::known(step, &refs.remotes)
        )
    };
    let (content, (others, known), last) = tokio::try_join!(
        content(step, user, tree, &real),
        refs,
        last(step.runtime, &namespace, &step.stop),
    )?;
    let mut state = SavedState {
        content,
        others,
        last,
        withheld: Vec::new(),
    };
    let mut plan = state.plan(step, user, &real).await?;
    let changed = match plan {
        // These files were searched for the last checkpoint.
        CheckpointPlan::Nothing | CheckpointPlan::Same(_) => Vec::new(),
        CheckpointPlan::Head | CheckpointPlan::Commit => std::mem::take(&mut state.content.changed),
    };
    // The commit is made beside the search for secrets. A finding makes it another one.
    let (withheld, mut sha) = tokio::try_join!(
        secrets::withhold(step, user, &real, &state.content.index.real, changed),
        state.commit(step, user, &real, &plan),
    )?;
    if !withheld.is_empty() {
        state.withheld = withheld;
        state.content.tree = write_tree(step, user, &real, &state.content.index).await?;
        plan = state.plan(step, user, &real).await?;
        sha = state.commit(step, user, &real, &plan).await?;
    }
    let (number, sha, is_new) = match plan {
        CheckpointPlan::Nothing => return Ok(Answer::Saved { checkpoint: None }),
        CheckpointPlan::Same(last) => (last.number, last.sha, false),
        CheckpointPlan::Head | CheckpointPlan::Commit => {
            transfer::to_mirror(step, user, &real, &sha, &known).await?;
            let number = state.last.as_ref().map_or(1, |last| last.number + 1);
            set_ref(step, &format!("{namespace}/{number}"), &sha).await?;
            (number, sha, true)
        }
    };
    let last = Saved {
        namespace,
        number,
        sha,
        tree: state.content.tree.clone(),
        parents: state.parents(),
        head_tree: state.content.head_tree.clone(),
    };
    let SavedState {
        content, withheld, ..
    } = state;
    let answer = saved(last.git_ref(), &last.sha, is_new, withheld.clone());
    // The next search would not know the withheld files.
    if let Some(footprint) = footprint.filter(|_| withheld.is_empty() && !content.has_hidden) {
        keep(step, user, (tree, &real), content, (last, footprint)).await?;
    }
    answer
}

/// Points a ref of the mirror to a commit.
async fn set_ref(step: &StepContext<'_>, name: &str, sha: &str) -> Result<()> {
    let call = GitCall::in_mirror(step.runtime, ["update-ref", name, sha])?;
    let ended = call.run(step.runtime, &step.stop).await?;
    ended.succeeded(step.runtime)?;
    Ok(())
}

impl SavedState {
    fn parents(&self) -> Vec<String> {
        std::iter::once(&self.content.head)
            .chain(&self.others)
            .cloned()
            .collect()
    }

    async fn plan(
        &self,
        step: &StepContext<'_>,
        user: User,
        real: &Path,
    ) -> Result<CheckpointPlan> {
        let Content {
            head,
            head_tree,
            tree,
            ..
        } = &self.content;
        // No commit is needed but those of the thread, and no file was left out.
        let is_clean = tree == head_tree && self.others.is_empty() && self.withheld.is_empty();
        if is_clean && is_known(step, user, real).await? {
            return Ok(CheckpointPlan::Nothing);
        }
        let is_same = |last: &&Last| {
            let has_parents = last.parents == self.parents().join(" ");
            last.tree == *tree && (has_parents || (is_clean && last.sha == *head))
        };
        Ok(match self.last.as_ref().filter(is_same) {
            Some(last) => CheckpointPlan::Same(last.clone()),
            None if is_clean => CheckpointPlan::Head,
            None => CheckpointPlan::Commit,
        })
    }

    /// Makes the commit of a plan that has one. Returns the commit of `HEAD` otherwise.
    async fn commit(
        &self,
        step: &StepContext<'_>,
        user: User,
        real: &Path,
        plan: &CheckpointPlan,
    ) -> Result<String> {
        if !matches!(plan, CheckpointPlan::Commit) {
            return Ok(self.content.head.clone());
        }
        let parents = self.parents();
        let arguments = ["commit-tree", "--no-gpg-sign", "-m", MESSAGE];
        let parents = parents.iter().flat_map(|parent| ["-p", parent]);
        let arguments = arguments
            .into_iter()
            .chain(parents)
            .chain([self.content.tree.as_str()]);
        let call = GitCall::new(
            user,
            real.to_owned(),
            arguments.map(OsString::from).collect(),
        );
        Ok(call
            .run(step.runtime, &step.stop)
            .await?
            .succeeded(step.runtime)?
            .text())
    }
}

fn saved(git_ref: String, sha: &str, is_new: bool, withheld: Vec<String>) -> Result<Answer> {
    let sha = Sha::parse(sha).map_err(|error| invalid(error.to_string()))?;
    Ok(Answer::Saved {
        checkpoint: Some(SavedCheckpoint {
            git_ref,
            sha,
            is_new,
            withheld,
        }),
    })
}

/// Returns the folder of a tree's thread, which a checkpoint without a run is named after.
fn folder_of(tree: &str) -> Result<&str> {
    let folder = tree
        .strip_prefix(THREADS)
        .and_then(|rest| rest.trim_start_matches('/').split('/').next());
    folder
        .filter(|name| !name.is_empty())
        .ok_or_else(|| invalid("a checkpoint is of a thread's tree"))
}

/// Writes the objects of the working tree with a copy of the index.
///
/// A start of git costs more than its work here, so independent calls run together.
async fn content(step: &StepContext<'_>, user: User, tree: &str, real: &Path) -> Result<Content> {
    let (runtime, stop) = (step.runtime, &step.stop);
    let index = beside::copy_index(step, user, (tree, real)).await?;
    let heads = async {
        let call = GitCall::in_tree(user, real, ["rev-parse", "HEAD^{commit}", "HEAD^{tree}"]);
        call.run(runtime, stop).await?.succeeded(runtime)
    };
    let add = async || {
        let call =
            GitCall::in_tree(user, real, ["add", "--all", "--verbose"]).with_index(&index.real);
        call.run(runtime, stop).await?.succeeded(runtime)
    };
    let (hidden, heads, added) =
        tokio::try_join!(hidden::list(step, user, real, &index.real), heads, add())?;
    let has_hidden = hidden::unhide(step, user, tree, real, &index.real, &hidden).await?;
    if has_hidden {
        add().await?;
    }
    let (changed, written) = tokio::try_join!(
        secrets::changed(step, user, real, &index.real),
        write_tree(step, user, real, &index)
    )?;
    if let Some(name) = changed.iter().find_map(secrets::Changed::embedded) {
        return Err(invalid(format!(
            "{name} is a repository of its own, which a checkpoint cannot save"
        )));
    }
    let text = heads.text();
    let (head, head_tree) = text
        .split_once('\n')
        .ok_or_else(|| invalid("the tree has no commit"))?;
    let (head, head_tree, added) = (head.to_owned(), head_tree.to_owned(), added.stdout);
    Ok(Content {
        index,
        head,
        head_tree,
        tree: written,
        changed,
        added,
        has_hidden,
    })
}

async fn write_tree(
    step: &StepContext<'_>,
    user: User,
    real: &Path,
    index: &Index,
) -> Result<String> {
    let call = GitCall::in_tree(user, real, ["write-tree"]).with_index(&index.real);
    Ok(call
        .run(step.runtime, &step.stop)
        .await?
        .succeeded(step.runtime)?
        .text())
}

/// Returns whether a remote branch or the mirror has the commit of a clean tree.
async fn is_known(step: &StepContext<'_>, user: User, real: &Path) -> Result<bool> {
    let arguments = ["rev-list", "--max-count=1", "HEAD", "--not", "--remotes"];
    let call = GitCall::in_tree(user, real, arguments);
    Ok(call
        .run(step.runtime, &step.stop)
        .await?
        .succeeded(step.runtime)?
        .stdout
        .is_empty())
}

async fn refs(step: &StepContext<'_>, user: User, real: &Path) -> Result<Refs> {
    let arguments = [
        "for-each-ref",
        "--format=%(HEAD) %(objectname) %(refname)",
        "refs/heads",
        "refs/remotes",
        STASH,
    ];
    let call = GitCall::in_tree(user, real, arguments);
    let text = call
        .run(step.runtime, &step.stop)
        .await?
        .succeeded(step.runtime)?
        .text();
    let mut refs = Refs {
        remotes: Vec::new(),
        branches: BTreeSet::new(),
        has_stash: false,
    };
    for line in text.lines() {
        // The mark of other branches is a space.
        let (is_current, line) = line
            .strip_prefix("* ")
            .map_or((false, line), |rest| (true, rest));
        let Some((sha, name)) = line.trim_start().split_once(' ') else {
            continue;
        };
        if name.starts_with("refs/remotes/") {
            refs.remotes.push(sha.to_owned());
        } else if name == STASH {
            refs.has_stash = true;
        } else if !is_current {
            refs.branches.insert(sha.to_owned());
        }
    }
    refs.remotes.sort();
    refs.remotes.dedup();
    Ok(refs)
}

/// Returns the local branches and stashes that neither `HEAD` nor a remote branch contains.
async fn others(
    step: &StepContext<'_>,
    user: User,
    real: &Path,
    refs: &Refs,
) -> Result<Vec<String>> {
    let mut tips = refs.branches.clone();
    tips.retain(|tip| refs.remotes.binary_search(tip).is_err());
    if refs.has_stash {
        // Only the last stash has a ref. The earlier ones are its log.
        let call = GitCall::in_tree(user, real, ["reflog", "show", "--format=%H", STASH]);
        let stashes = call
            .run(step.runtime, &step.stop)
            .await?
            .succeeded(step.runtime)?
            .text();
        tips.extend(stashes.lines().map(str::to_owned));
    }
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    let names: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
    let call = GitCall::in_tree(
        user,
        real,
        ["rev-list", "--stdin", "--not", "HEAD", "--remotes"],
    );
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
        return Err(invalid(format!(
            "more than {OTHERS_MAX} branches and stashes are unsaved"
        )));
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
        Some(Last {
            number,
            sha: next()?,
            tree: next()?,
            parents: next()?,
        })
    };
    Ok(text
        .lines()
        .filter_map(parse)
        .max_by_key(|last| last.number))
}

/// Keeps the start of the next checkpoint of the run. Without it, that one reads everything again.
async fn keep(
    step: &StepContext<'_>,
    user: User,
    (tree, real): (&str, &Path),
    content: Content,
    (saved, footprint): (Saved, Footprint),
) -> Result<()> {
    let Content { index, added, .. } = content;
    let objects = beside::make_objects(step, user, (tree, real)).await?;
    let kept = step.blocking(move |_| {
        let watched = WatchedTree::new(&objects.tree, footprint, &added);
        Ok(watched.map(|watched| Kept {
            saved,
            index,
            objects,
            watched,
        }))
    });
    if let Some(kept) = kept.await? {
        step.shared.known.keep(real, Known::Kept(Box::new(kept)));
    }
    Ok(())
}
