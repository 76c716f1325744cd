//! `/checkpoint` and `/restore`: work in a thread's tree, saved in the mirror and given back.

use std::rc::Rc;

use ars_resident::daemon::{Answer, FailureKind, StepInput};
use ars_resident::names::Sha;
use ars_resident::plan::{PublishContext, check, checkpoint, find_checkpoint, restore};
use ars_resident::refusal::{Refusal, Token};
use ars_resident::saved_work::MESSAGE;
use ars_resident::thread::TreeCheck;
use ars_resident::wire::{CheckpointRequest, CheckpointResponse, RestoreResponse};
use ars_sql::Sql;

use super::engine::Engine;
use super::ready::STREAMED_WAIT_MS;
use super::steps::{StepError, Steps};
use crate::{Error, Host};

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Handles `/checkpoint`. A repetition without a change returns the last checkpoint.
    pub(super) async fn checkpoint(
        self: &Rc<Self>,
        request: &CheckpointRequest,
    ) -> Result<CheckpointResponse, Error> {
        let CheckpointRequest {
            thread_key, run, ..
        } = request;
        let (binding, user, _count) = self.enter(thread_key, STREAMED_WAIT_MS).await?;
        let mut steps = Steps::new(self);
        let step = checkpoint(thread_key, &binding.git_ref, user);
        let saved = steps
            .run(
                step,
                StepInput::Checkpoint {
                    run: Some(run.clone()),
                },
            )
            .await;
        match saved.map_err(|error| error.into_error(Token::OpFailed))? {
            Answer::Saved { checkpoint } => {
                if let Some(saved) = &checkpoint {
                    self.store
                        .add_checkpoint(thread_key, saved, self.host.now())?;
                }
                Ok(CheckpointResponse { checkpoint })
            }
            _ => Err(Refusal::new(Token::OpFailed, "the checkpoint has no result").into()),
        }
    }

    /// Handles `/restore`. Restores only the same thread's checkpoint, in a tree without work.
    pub(super) async fn restore(
        self: &Rc<Self>,
        request: &CheckpointRequest,
    ) -> Result<RestoreResponse, Error> {
        let CheckpointRequest {
            thread_key, run, ..
        } = request;
        let (binding, user, _count) = self.enter(thread_key, STREAMED_WAIT_MS).await?;
        let mut steps = Steps::new(self);
        let Some((git_ref, sha, is_of_service)) = newest(&mut steps, request).await? else {
            let detail = format!("the resident has no checkpoint of the run {run} for this thread");
            return Err(Refusal::new(Token::UnknownRef, &detail).into());
        };
        let step = check(thread_key, &binding.git_ref, user, None);
        let found = steps.run(step, StepInput::None).await;
        let Answer::Tree { check: Some(found) } =
            found.map_err(|error| error.into_error(Token::OpFailed))?
        else {
            let detail = "the tree is not on the disk; attach the thread";
            return Err(Refusal::new(Token::WorktreeMissing, detail).into());
        };
        if TreeCheck::has_unsaved(found) {
            let detail =
                "the working tree of this thread has unsaved work, and a restore would replace it";
            return Err(Refusal::new(Token::OpRefused, detail).into());
        }
        let context = PublishContext {
            thread: thread_key,
            git_ref: &binding.git_ref,
            user,
            sha: &sha,
        };
        for step in restore(context, is_of_service) {
            steps
                .run(step, StepInput::None)
                .await
                .map_err(|error| error.into_error(Token::OpFailed))?;
        }
        Ok(RestoreResponse { git_ref, sha })
    }
}

/// Returns the run's newest checkpoint in the mirror, and whether the service made its commit. A
/// newer checkpoint may be lost with its container's disk.
async fn newest<S: Sql + 'static, H: Host>(
    steps: &mut Steps<'_, S, H>,
    request: &CheckpointRequest,
) -> Result<Option<(String, Sha, bool)>, Error> {
    for (git_ref, sha) in steps
        .engine
        .store
        .checkpoints_of(&request.thread_key, &request.run)?
    {
        match steps.run(find_checkpoint(&sha), StepInput::None).await {
            Ok(Answer::Command(end)) => {
                return Ok(Some((git_ref, sha, end.stdout.trim() == MESSAGE)));
            }
            Ok(_) => {}
            Err(StepError::Step { failure, .. }) if failure.kind == FailureKind::Exit => {}
            Err(error) => return Err(error.into_refusal(Token::OpFailed).into()),
        }
    }
    Ok(None)
}
