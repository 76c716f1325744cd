//! Gives a user an empty home, and the build user a new home for each step.

use std::sync::Arc;

use ars_resident::daemon::{Answer, FailureKind};
use ars_resident::plan::User;

use super::{folders, kill, trash};
use crate::{
    failure::{Context as _, Result},
    homes, remove,
    step::StepContext,
    users,
};

/// Paths that a program removes at once: program arguments have a limit.
const PATHS_AT_ONCE: usize = 200;

/// Ends a user's processes, and replaces the home with an empty home.
pub(super) async fn clean(step: &StepContext<'_>, user: User) -> Result<Answer> {
    step.require_root()?;
    // A checkpoint after a plan's kill may have run a filter from the tree.
    kill::all_of(step, user).await?;
    replace(step, user).await?;
    Ok(Answer::Done)
}

/// Prepares a build user command: nothing is left from the command before. The caller has the build
/// user for itself (`crate::step::Shared::builder`).
pub(super) async fn enter_build(step: &StepContext<'_>) -> Result<()> {
    kill::all_of(step, User::BUILD).await?;
    replace(step, User::BUILD).await
}

/// Ends what a build user command left running.
pub(super) async fn leave_build(step: &StepContext<'_>) -> Result<()> {
    kill::all_of(step, User::BUILD).await.map(drop)
}

async fn replace(step: &StepContext<'_>, user: User) -> Result<()> {
    let (runtime, mode) = (step.runtime, &step.runtime.settings.mode);
    for path in homes::folders_of(mode, user) {
        let real = folders::removable(step, &path)?;
        trash::throw_away(step, &path, &real).await?;
    }
    homes::make(&runtime.places, &runtime.settings, user).context("home")?;
    let Some(owner) = users::owner(mode, user) else {
        return Ok(());
    };
    let roots = Arc::clone(runtime);
    let left = step
        .blocking(move |_| Ok(homes::left_in_shared(&roots.places, owner)))
        .await?;
    // As the user itself, so a link or a folder that is exchanged gains nothing.
    for some in left.chunks(PATHS_AT_ONCE) {
        match remove::as_owner(runtime, &step.stop, user, some).await {
            // What the user cannot remove is in a folder that it cannot write to, so it did not put it there.
            Err(failure) if failure.kind != FailureKind::Exit => return Err(failure),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
