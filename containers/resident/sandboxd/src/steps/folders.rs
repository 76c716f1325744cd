//! Folders: create, remove, change owner.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ars_resident::daemon::{Answer, FailureKind};
use ars_resident::layout::{BUILT, CHECKOUT, HOMES, MIRROR, READY, WORKSPACE};
use ars_resident::plan::User;
use rustix::fs::{Mode as Bits, fchmod, fchown, mkdirat};
use rustix::io::Errno;

use super::markers;
use crate::{
    failure::{Context as _, Result, invalid},
    places::open_beneath,
    remove,
    step::StepContext,
    users,
    walk::change_owner,
};

/// Largest permissions for a folder.
const PERMISSIONS: u32 = 0o777;

/// Creates a folder, or gives an existing folder these permissions and owner.
pub(super) fn make(step: &StepContext<'_>, path: &str, mode: u32, owner: User) -> Result<Answer> {
    step.require_root()?;
    let (parent, name) = step.runtime.places.parent(path)?;
    match mkdirat(&parent, &name, Bits::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error).context(path),
    }
    let folder = open_beneath(&parent, Path::new(&name)).context(path)?;
    if let Some(owner) = users::owner(&step.runtime.settings.mode, owner) {
        // The build user's group reads the mirror.
        let group = if path == MIRROR {
            users::owner(&step.runtime.settings.mode, User::BUILD)
        } else {
            None
        };
        fchown(
            &folder,
            Some(owner.uid()),
            Some(group.unwrap_or(owner).gid()),
        )
        .context(path)?;
    }
    fchmod(&folder, Bits::from_raw_mode(mode & PERMISSIONS)).context(path)?;
    Ok(Answer::Done)
}

/// Removes a folder with the content. A missing folder is removed already.
pub(super) async fn remove(step: &StepContext<'_>, path: &str) -> Result<Answer> {
    step.require_root()?;
    let real = removable(step, path)?;
    if path == MIRROR || path == CHECKOUT {
        // A tree that is not complete any more is not verified.
        markers::remove(step, &[READY, BUILT])?;
    }
    match step.runtime.places.parent(path) {
        Ok(_) => {}
        Err(failure) if failure.kind == FailureKind::NotFound => return Ok(Answer::Done),
        Err(failure) => return Err(failure),
    }
    remove_real(step, &real).await?;
    Ok(Answer::Done)
}

/// Returns the real path of a folder that may be removed.
pub(super) fn removable(step: &StepContext<'_>, path: &str) -> Result<PathBuf> {
    if path == WORKSPACE || path == HOMES {
        return Err(invalid("a root is not removed"));
    }
    step.runtime.places.real(path)
}

/// Removes a path below a folder without links. The program does not follow links in it.
pub(super) async fn remove_real(step: &StepContext<'_>, path: &Path) -> Result<()> {
    remove::path(step.runtime, &step.stop, path).await
}

/// Gives a user a folder with the content.
pub(super) async fn own(step: &StepContext<'_>, path: &str, owner: User) -> Result<Answer> {
    step.require_root()?;
    let folder = step.runtime.places.open_dir(path)?;
    if let Some(owner) = users::owner(&step.runtime.settings.mode, owner) {
        step.blocking(move |stop| change_owner(&folder, owner, stop))
            .await?;
    }
    Ok(Answer::Done)
}

/// Returns the entries in a folder that root alone changes; none if it is missing.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
