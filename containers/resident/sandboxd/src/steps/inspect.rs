//! The whole disk's markers, free space and unsaved work.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use ars_resident::daemon::{Answer, DiskState};
use ars_resident::layout::{BUILT, CHECKOUT, DEPS_INSTALLING, DEPS_KEY, READY, THREADS};
use ars_resident::lifecycle::{Markers, TreesState};
use ars_resident::names::{LockfileKey, Sha};
use ars_resident::plan::User;
use ars_resident::pool::PoolUser;
use futures::{StreamExt as _, stream};

use super::{check::inspect_tree, markers::read};
use crate::{failure::Result, git::GitCall, settings::Mode, step::StepContext, store};

/// Trees that are checked at a time.
const CHECKS_AT_ONCE: usize = 4;

/// Reads the disk's state.
pub(super) async fn inspect(step: &StepContext<'_>) -> Result<Answer> {
    step.require_root()?;
    let runtime = step.runtime;
    let sha = |path| read(runtime, path, |text| Sha::parse(text).ok());
    let key = |path| read(runtime, path, |text| LockfileKey::parse(text).ok());
    let markers = Markers {
        ready: sha(READY),
        head: head(step).await?,
        built: sha(BUILT),
        deps_key: key(DEPS_KEY).filter(|key| store::has_entry(runtime, key)),
        deps_installing: key(DEPS_INSTALLING),
    };
    let states: Vec<_> = stream::iter(trees(step)?)
        .map(async |(user, tree)| state_of(step, user, &tree).await)
        .buffer_unordered(CHECKS_AT_ONCE)
        .collect()
        .await;
    let states = states.into_iter().collect::<Result<Vec<_>>>()?;
    let has = |state| states.contains(&Some(state));
    let trees = match () {
        () if has(TreesState::Dirty) => TreesState::Dirty,
        () if has(TreesState::Unknown) => TreesState::Unknown,
        () => TreesState::Clean,
    };
    Ok(Answer::Inspected(DiskState {
        runtime: runtime.id.clone(),
        build: runtime.settings.build.clone(),
        markers,
        free_kib: runtime.free_kib(),
        trees,
    }))
}

/// Returns a tree's state, or `None` if it is gone by now.
///
/// A tree that cannot be checked is unknown: the disk is not broken by a tree.
async fn state_of(
    step: &StepContext<'_>,
    user: Option<User>,
    tree: &Path,
) -> Result<Option<TreesState>> {
    let Some(user) = user else {
        return Ok(Some(TreesState::Unknown));
    };
    let check = inspect_tree(step.runtime, user, tree, None, &step.stop).await;
    step.stop.check()?;
    Ok(match check {
        Ok(check) if check.is_readable && check.has_unsaved() => Some(TreesState::Dirty),
        Ok(check) if check.is_readable => Some(TreesState::Clean),
        _ => tree.exists().then_some(TreesState::Unknown),
    })
}

/// Returns the checkout's commit.
async fn head(step: &StepContext<'_>) -> Result<Option<Sha>> {
    let checkout = step.runtime.places.real(CHECKOUT)?;
    if !checkout.join(".git").is_dir() {
        return Ok(None);
    }
    let call = GitCall::in_tree(
        User::BUILD,
        &checkout,
        ["rev-parse", "--verify", "HEAD^{commit}"],
    );
    let output = call.run(step.runtime, &step.stop).await?;
    Ok(Sha::parse(output.text())
        .ok()
        .filter(|_| output.exit_code == 0))
}

/// Returns all threads' trees with their users. A folder without a pool user has an unknown state.
fn trees(step: &StepContext<'_>) -> Result<Vec<(Option<User>, PathBuf)>> {
    let threads = step.runtime.places.real(THREADS)?;
    let mut found = Vec::new();
    for thread in fs::read_dir(threads).into_iter().flatten().flatten() {
        for tree in fs::read_dir(thread.path()).into_iter().flatten().flatten() {
            let Ok(meta) = tree.metadata() else { continue };
            if !meta.is_dir() {
                continue;
            }
            let user = match step.runtime.settings.mode {
                Mode::Users => PoolUser::all().find(|user| user.uid() == meta.uid()),
                // A single user owns everything; which home git gets does not matter.
                Mode::Host(_) => PoolUser::all().next(),
            };
            found.push((user.map(User::pool), tree.path()));
        }
    }
    Ok(found)
}
