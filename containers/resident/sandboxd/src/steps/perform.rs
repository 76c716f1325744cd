//! Dispatches a step to an operation.

use ars_resident::daemon::{Answer, Job};
use ars_resident::plan::{Operation, User};

use super::{
    aside, builds, check, checkpoint, command, credential, deps, files, folders, git_step, home,
    inspect, kill, markers, snapshot, spare, transfer, trash,
};
use crate::{failure::Result, step::StepContext};

/// Performs a step.
///
/// The credential is an attach's last step, after which the first command is near.
pub(crate) async fn perform(step: &StepContext<'_>) -> Result<Answer> {
    match &step.request.step.operation {
        Operation::Git {
            args,
            cwd,
            has_credential,
        } => git_step::git(step, args, cwd, *has_credential).await,
        Operation::TableCommand { user, command, cwd } => {
            command::table(step, User::Unprivileged(*user), command, cwd).await
        }
        Operation::ExecCommand {
            user,
            command,
            cwd,
            head_bytes,
        } => command::exec(step, User::pool(*user), command, cwd, *head_bytes).await,
        Operation::MakeDir { path, mode, owner } => folders::make(step, path, *mode, *owner),
        Operation::RemoveTree { path } => folders::remove(step, path).await,
        Operation::DiscardTree { path } => trash::discard(step, path).await,
        Operation::EmptyTrash => trash::wait(step).await,
        Operation::ChangeOwner { path, owner } => folders::own(step, path, *owner).await,
        Operation::LinkDeps { key, tree, owner } => deps::link(step, key, tree, *owner).await,
        Operation::TakeSpare { tree } => spare::take(step, tree).await,
        Operation::RefreshSpare { owner } => spare::refresh(step, *owner).await,
        Operation::CopyBuilds { tree, owner } => builds::copy(step, tree, *owner).await,
        Operation::WriteFile { path, mode } => files::write(step, path, *mode),
        Operation::ReadFile { path, max_chars } => files::read(step, path, *max_chars),
        Operation::WriteCredential { tree } => {
            let written = credential::write(step, tree).await?;
            command::prepare(step, tree);
            Ok(written)
        }
        Operation::CheckCredential { tree } => credential::check(step, tree),
        Operation::ScrubCredential { tree } => {
            let scrubbed = credential::scrub(step, tree).await?;
            command::prepare(step, tree);
            Ok(scrubbed)
        }
        Operation::CheckTree { tree, tip } => check::check(step, tree, tip.as_ref()).await,
        Operation::Checkpoint { tree } => checkpoint::save(step, tree).await,
        Operation::ReceiveCommit { tree, sha } => transfer::receive(step, tree, sha).await,
        Operation::SendCommit { tree, sha, name } => transfer::send(step, tree, sha, name).await,
        Operation::KillUser { user } => kill::user(step, User::pool(*user)).await,
        Operation::KillIn { path } => kill::folder(step, path).await,
        Operation::SetMirrorAside => aside::set(step).await,
        Operation::AdoptCheckpoints => aside::adopt(step).await,
        Operation::Inspect => inspect::inspect(step).await,
        Operation::Unmark { has_deps } => markers::unmark(step, *has_deps),
        Operation::Mark { sha, key } => markers::mark(step, sha, key),
        Operation::Install { key, sha, command } => deps::install(step, key, sha, command).await,
        Operation::AdoptDeps { key, backup } => deps::adopt(step, key, backup.as_ref()).await,
        Operation::SweepDeps { keep } => deps::sweep(step, keep).await,
        Operation::LockfileListing { sha } => git_step::lockfiles(step, sha).await,
        Operation::AwaitStreams => {
            let own = step.request.job;
            let is_other = |job: Job| matches!(job, Job::Cycle { .. }) && job != own;
            step.stop
                .until(step.shared.registry.until_none(is_other))
                .await
                .map(|()| Answer::Done)
        }
        // An archive is extracted to a real folder, so there is no mount to remove.
        Operation::Unmount => Ok(Answer::Done),
        Operation::Archive { path, without } => {
            snapshot::archive(step, path, without.as_deref()).await
        }
        Operation::Extract { backup, path } => snapshot::extract(step, backup, path).await,
        Operation::CleanHome { user } => home::clean(step, User::pool(*user)).await,
    }
}
