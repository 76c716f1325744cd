//! Ends a user's processes, or the build user's in a folder.

use ars_resident::daemon::{Answer, FailureKind, StepFailure};
use ars_resident::plan::User;

use crate::{
    failure::{Result, invalid},
    process::{Killed, kill_in, kill_user},
    settings::Mode,
    step::StepContext,
    users,
};

/// Kills all processes of a pool user.
pub(super) async fn user(step: &StepContext<'_>, user: User) -> Result<Answer> {
    if step.request.step.user != user {
        return Err(invalid("a kill reaches the processes of its own user only"));
    }
    Ok(Answer::Killed {
        processes: all_of(step, user).await?,
    })
}

/// Kills all processes of a user, and returns their number. The tree's shared
/// command sandbox ends, too.
pub(super) async fn all_of(step: &StepContext<'_>, user: User) -> Result<u32> {
    if let Mode::Host(confine) = &step.runtime.settings.mode {
        confine.end_shared(&users::home(&step.runtime.places, user)?);
    }
    let tags = step.runtime.tags_of(user);
    let uid = users::uid(&step.runtime.settings.mode, user);
    step.blocking(move |_| complete(kill_user(uid, &tags)))
        .await
}

/// Kills the build user's processes that work in a folder.
pub(super) async fn folder(step: &StepContext<'_>, path: &str) -> Result<Answer> {
    step.require_root()?;
    let folder = step.runtime.places.real(path)?;
    let uid = users::uid(&step.runtime.settings.mode, User::BUILD);
    let processes = step
        .blocking(move |_| complete(kill_in(&folder, uid)))
        .await?;
    Ok(Answer::Killed { processes })
}

/// Returns the number of killed processes. The user of a process that still runs is not free.
fn complete(killed: Killed) -> Result<u32> {
    if killed.is_complete {
        return Ok(killed.processes);
    }
    Err(StepFailure::new(
        FailureKind::Timeout,
        "processes appear faster than they are killed",
    ))
}
