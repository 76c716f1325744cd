//! The trash: a removed tree is moved away at once, and deleted later (`crate::trash`).

use std::path::Path;

use ars_resident::daemon::{Answer, FailureKind};
use ars_resident::layout::TRASH;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::folders;
use crate::{failure::Result, step::StepContext};

/// Moves a folder into the trash. A missing folder is removed already.
pub(super) async fn discard(step: &StepContext<'_>, path: &str) -> Result<Answer> {
    step.require_root()?;
    let real = folders::removable(step, path)?;
    throw_away(step, path, &real).await?;
    Ok(Answer::Done)
}

/// Moves a folder into the trash for any user's step.
pub(super) async fn throw_away(step: &StepContext<'_>, path: &str, real: &Path) -> Result<()> {
    let (from, name) = match step.runtime.places.parent(path) {
        Ok(found) => found,
        Err(failure) if failure.kind == FailureKind::NotFound => return Ok(()),
        Err(failure) => return Err(failure),
    };
    let trash = step.runtime.places.open_dir(TRASH)?;
    let place = uuid::Uuid::new_v4().to_string();
    match renameat_with(&from, &name, &trash, place.as_str(), RenameFlags::NOREPLACE) {
        Ok(()) => step.shared.trash.empty_soon(step.runtime),
        Err(Errno::NOENT) => {}
        // A mount, or a host folder that the owner may not move.
        Err(_) => folders::remove_real(step, real).await?,
    }
    Ok(())
}

/// Waits until the trash is empty.
pub(super) async fn wait(step: &StepContext<'_>) -> Result<Answer> {
    step.require_root()?;
    step.shared.trash.empty(step.runtime, &step.stop).await?;
    Ok(Answer::Done)
}
