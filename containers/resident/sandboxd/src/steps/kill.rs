//! Ends a user's processes, or the build user's in a folder.

use ars_resident::daemon::Answer;
use ars_resident::plan::User;

use crate::{
    failure::{Result, invalid},
    process::{KILL_TIMEOUT, kill_in, kill_tagged, kill_uid},
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

/// Kills all processes of a user, and returns how many a step had started. The tree's shared
/// command sandbox ends, too.
pub(super) async fn all_of(step: &StepContext<'_>, user: User) -> Result<u32> {
    if let Mode::Host(confine) = &step.runtime.settings.mode {
        confine.end_shared(&users::home(&step.runtime.places, user)?);
    }
    let tags = step.runtime.tags_of(user);
    let uid = users::owner(&step.runtime.settings.mode, user).map(|owner| owner.0);
    step.blocking(move |_| Ok(kill_tagged(&tags, uid, KILL_TIMEOUT) + uid.map_or(0, kill_uid)))
        .await
}

/// Kills the build user's processes that work in a folder.
pub(super) async fn folder(step: &StepContext<'_>, path: &str) -> Result<Answer> {
    step.require_root()?;
    let folder = step.runtime.places.real(path)?;
    let owner = users::owner(&step.runtime.settings.mode, User::BUILD);
    let processes = step
        .blocking(move |_| Ok(kill_in(&folder, owner.map(|owner| owner.0))))
        .await?;
    Ok(Answer::Killed { processes })
}
