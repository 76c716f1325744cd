//! The spare tree: the last touches, and the move to a thread's tree.
//!
//! Only root reaches it before the move, so root's git may work in it. Not here: how it is made
//! (`ars_resident::plan`).

use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ars_resident::daemon::Answer;
use ars_resident::layout::{SPARE, THREADS};
use ars_resident::plan::User;
use cap_std::fs::Dir;
use rustix::fs::{RenameFlags, renameat_with};

use crate::{
    failure::{Context as _, Result, invalid},
    footprint::Footprint,
    git::GitCall,
    kept::{Attached, Base, Known},
    step::StepContext,
    users,
    walk::change_owner,
};

/// The repository in the tree.
const REPOSITORY: &str = ".git";
/// The repository's index file.
const INDEX: &str = ".git/index";
/// Git compares file times in whole seconds.
const SECOND: Duration = Duration::from_secs(1);
/// Longest time by which the file clock is behind: a tick on the slowest kernel.
const TICK: Duration = Duration::from_millis(10);

/// Updates the index with the files' current times, and remembers the commit.
pub(super) async fn refresh(step: &StepContext<'_>, owner: User) -> Result<Answer> {
    step.require_root()?;
    step.shared.known.set_spare(None);
    let places = &step.runtime.places;
    let (folder, real) = (Dir::from(places.open_dir(SPARE)?), places.real(SPARE)?);
    // Git reads every file that is as new as the index: the content could have changed since.
    step.stop
        .until(tokio::time::sleep(rest_of_second(&folder)?))
        .await?;
    // The tree belongs to another user already, and changing owners changed the times.
    let trusted = format!("safe.directory={}", real.display());
    let call = |arguments: &[&str]| {
        let all = ["-c", &trusted]
            .into_iter()
            .chain(arguments.iter().copied());
        GitCall::new(User::ROOT, real.clone(), all.map(Into::into).collect())
    };
    // It also fails for files that differ from the commit, such as those with other line ends.
    call(&["update-index", "-q", "--refresh"])
        .run(step.runtime, &step.stop)
        .await?;
    if let Some(owner) = users::owner(&step.runtime.settings.mode, owner) {
        let repository = folder.open_dir(REPOSITORY).context(REPOSITORY)?.into();
        step.blocking(move |stop| change_owner(&repository, owner, stop))
            .await?;
    }
    let named = call(&["rev-parse", "HEAD^{commit}", "HEAD^{tree}"])
        .run(step.runtime, &step.stop)
        .await?;
    let text = named.succeeded(step.runtime)?.text();
    let base = text.split_once('\n').map(|(sha, tree)| Base {
        sha: sha.to_owned(),
        tree: tree.to_owned(),
    });
    step.shared.known.set_spare(base);
    Ok(Answer::Done)
}

/// Moves the tree to where a thread's tree belongs.
pub(super) async fn take(step: &StepContext<'_>, tree: &str) -> Result<Answer> {
    step.require_root()?;
    if !tree.starts_with(&format!("{THREADS}/")) {
        return Err(invalid("the spare tree becomes the tree of a thread"));
    }
    let places = &step.runtime.places;
    let base = step.shared.known.set_spare(None);
    let (from, spare) = places.parent(SPARE)?;
    let (to, name) = places.parent(tree)?;
    let moved = places.real(tree)?;
    let footprint = match &base {
        Some(_) => {
            let folder = Dir::from(places.open_dir(SPARE)?);
            step.blocking(move |_| Ok(Footprint::read(&folder))).await?
        }
        None => None,
    };
    renameat_with(&from, &spare, &to, &name, RenameFlags::NOREPLACE).context("spare")?;
    if let Some((base, footprint)) = base.zip(footprint) {
        step.shared
            .known
            .keep(&moved, Known::Attached(Attached { base, footprint }));
    }
    Ok(Answer::Done)
}

/// Returns the time until the second after that in which the index was written.
fn rest_of_second(tree: &Dir) -> Result<Duration> {
    let meta = tree.symlink_metadata(Path::new(INDEX)).context("index")?;
    let written = meta.modified().context("index")?.into_std();
    let whole = written
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let next = UNIX_EPOCH + Duration::from_secs(whole) + SECOND + TICK;
    // A time in the future comes from a clock that was set back.
    Ok(next
        .duration_since(SystemTime::now())
        .unwrap_or_default()
        .min(SECOND + TICK))
}
