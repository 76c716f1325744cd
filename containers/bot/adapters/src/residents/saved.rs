//! Checkpoints a thread's tree on a resident.
//!
//! The note about the tree names the last checkpoint while the tree has unsaved work, so that a
//! recreated tree gets it back. Not here: how a tree is saved and restored (the resident).

use ars_bot_ports::{Checkpoint, NO_CHECKPOINT, ResidentsError, WorkspaceError};
use ars_resident::{
    refusal::Token,
    wire::{AttachResponse, CheckpointRequest},
};
use ars_types::RunId;
use tokio_util::sync::CancellationToken;

use super::{
    bindings::{Note, Saved},
    tree::{ResidentTree, of_error, was_made},
};

impl Saved {
    fn checkpoint(&self) -> Checkpoint {
        let (git_ref, commit) = (self.git_ref.clone(), self.sha.to_string());
        Checkpoint {
            git_ref,
            commit,
            is_new: false,
            withheld: Vec::new(),
        }
    }
}

impl ResidentTree {
    /// Saves the tree. A tree that is gone is not recreated for this.
    pub(super) async fn checkpoint(
        &self,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Result<Option<Checkpoint>, WorkspaceError> {
        let request = self.request(run);
        let answer = self
            .residents
            .checkpoint(&request, cancel)
            .await
            .map_err(|error| of_error(&error))?;
        let saved = answer.checkpoint;
        let named = saved.as_ref().map(|saved| Saved {
            run: run.clone(),
            git_ref: saved.git_ref.clone(),
            sha: saved.sha.clone(),
        });
        if self.note().saved != named {
            self.store(Note {
                saved: named,
                ..self.note()
            })
            .await?;
        }
        Ok(saved.map(|saved| Checkpoint {
            git_ref: saved.git_ref,
            commit: saved.sha.to_string(),
            is_new: saved.is_new,
            withheld: saved.withheld,
        }))
    }

    /// Gives the thread the tree from a run's last checkpoint. The thread's later work is never
    /// replaced.
    pub(super) async fn restore(
        &self,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Result<Checkpoint, WorkspaceError> {
        let request = self.request(run);
        let mut answer = self.residents.restore(&request, cancel).await;
        if let Err(ResidentsError::Refused(refusal)) = &answer
            && (refusal.token().needs() == Some("attach")
                || refusal.token() == Token::RuntimeReplaced)
        {
            let bound = self.note().bound;
            let attached = self
                .attach(Some(&bound), cancel)
                .await
                .map_err(|error| of_error(&error))?;
            if let Some(returned) = self.adopt(&attached, cancel).await?
                && returned.run == *run
            {
                return Ok(returned.checkpoint());
            }
            answer = self.residents.restore(&request, cancel).await;
        }
        match answer {
            Ok(found) => {
                let saved = Saved {
                    run: run.clone(),
                    git_ref: found.git_ref,
                    sha: found.sha,
                };
                let checkpoint = saved.checkpoint();
                self.store(Note {
                    saved: Some(saved),
                    is_released: false,
                    ..self.note()
                })
                .await?;
                Ok(checkpoint)
            }
            Err(ResidentsError::Refused(refusal)) if refusal.token() == Token::UnknownRef => {
                Err(WorkspaceError::NotFound(NO_CHECKPOINT.into()))
            }
            Err(error) => Err(of_error(&error)),
        }
    }

    /// Puts the last checkpoint's work into a new tree. `None` if the resident lost it.
    pub(super) async fn return_work(
        &self,
        saved: Saved,
        answer: &AttachResponse,
        cancel: &CancellationToken,
    ) -> Result<Option<Saved>, WorkspaceError> {
        // Not `restore`, which could attach again without an end.
        match self
            .residents
            .restore(&self.request(&saved.run), cancel)
            .await
        {
            Ok(found) => Ok(Some(Saved {
                run: saved.run,
                git_ref: found.git_ref,
                sha: found.sha,
            })),
            Err(ResidentsError::Refused(refusal)) => match refusal.token() {
                Token::UnknownRef => Ok(None),
                // An earlier attempt restored it, and was not noted.
                Token::OpRefused if !was_made(answer) => Ok(Some(saved)),
                _ => Err(of_error(&ResidentsError::Refused(refusal))),
            },
            Err(error) => Err(of_error(&error)),
        }
    }

    fn request(&self, run: &RunId) -> CheckpointRequest {
        let (resource, thread_key) = (self.note().resource, self.thread.clone());
        CheckpointRequest {
            resource,
            thread_key,
            run: run.clone(),
        }
    }
}
