//! Attaches a thread's tree, and returns it to the commits and checkpoints that a container lost.

use ars_bot_ports::{KEPT_FOLDER, ResidentsError, WorkspaceError};
use ars_resident::{
    names::{ExecCommand, RunBranch, Sha},
    refusal::Token,
    wire::{
        AttachRequest, AttachResponse, CheckOutFrom, CheckOutRequest, ExecRequest, PushRequest,
        PushResponse,
    },
};
use ars_types::StrictRefName;
use tokio_util::sync::CancellationToken;

use super::{ResidentTree, SCRIPT_TIMEOUT, lock, of_error, short, was_made};
use crate::residents::{
    bindings::{Note, Pushed, Saved},
    script::{self},
};

impl ResidentTree {
    /// Returns branch and commit of an adopted tree, for people.
    pub(in crate::residents) fn place(
        &self,
        answer: &AttachResponse,
        returned: Option<&Saved>,
    ) -> String {
        if let Some(Saved { git_ref, sha, .. }) = returned {
            return format!("{git_ref}@{}", short(sha.as_str()));
        }
        match self.note().pushed.filter(|_| was_made(answer)) {
            Some(Pushed { branch, sha }) => format!("{branch}@{}", short(sha.as_str())),
            None => format!("{}@{}", answer.git_ref, short(answer.sha.as_str())),
        }
    }

    /// Attaches the thread. A request without a ref is repeated once with the default branch.
    pub(in crate::residents) async fn attach(
        &self,
        git_ref: Option<&StrictRefName>,
        cancel: &CancellationToken,
    ) -> Result<AttachResponse, ResidentsError> {
        let Note {
            resource,
            is_readonly,
            ..
        } = self.note();
        let mut request = AttachRequest {
            resource,
            thread_key: self.thread.clone(),
            ref_hint: git_ref.cloned(),
            readonly: is_readonly,
            sha: None,
        };
        match self.residents.attach(&request, cancel).await {
            Err(ResidentsError::Refused(refusal)) if refusal.token() == Token::NeedsRef => {
                let Some(default) = refusal.default_ref() else {
                    return Err(ResidentsError::Refused(refusal));
                };
                request.ref_hint = Some(default.clone());
                self.residents.attach(&request, cancel).await
            }
            answer => answer,
        }
    }

    /// Pushes a commit of the tree. A repetition of a push has no further effect.
    pub(in crate::residents) async fn push(
        &self,
        sha: Sha,
        branch: RunBranch,
        cancel: &CancellationToken,
    ) -> Result<PushResponse, WorkspaceError> {
        let (resource, thread_key) = (self.note().resource, self.thread.clone());
        let request = PushRequest {
            resource,
            thread_key,
            sha: sha.clone(),
            branch: branch.clone(),
        };
        let answer = self
            .file_call(cancel, || Box::pin(self.residents.push(&request, cancel)))
            .await?;
        if answer.pushed {
            self.store(Note {
                pushed: Some(Pushed { branch, sha }),
                ..self.note()
            })
            .await?;
            // The last checkpoint may have pushed commits only, or files beside them.
            if let Some(saved) = self.note().saved
                && let Err(error) = self.checkpoint(&saved.run, cancel).await
            {
                tracing::warn!(%error, "a tree was not saved again after a push");
            }
        }
        Ok(answer)
    }

    /// Checks out a commit that the code host has.
    pub(in crate::residents) async fn check_out(
        &self,
        sha: Sha,
        from: CheckOutFrom,
        cancel: &CancellationToken,
    ) -> Result<(), WorkspaceError> {
        let (resource, thread_key) = (self.note().resource, self.thread.clone());
        let request = CheckOutRequest {
            resource,
            thread_key,
            sha,
            from,
        };
        let answer = self.file_call(cancel, || {
            Box::pin(self.residents.check_out(&request, cancel))
        });
        answer.await.map(drop)
    }

    /// Gives a new tree the commits that the thread pushed.
    /// Returns `false` if the code host does not have the branch any more.
    async fn return_to(
        &self,
        pushed: Pushed,
        cancel: &CancellationToken,
    ) -> Result<bool, WorkspaceError> {
        let Pushed { branch, sha } = pushed;
        let (resource, thread_key) = (self.note().resource, self.thread.clone());
        let request = CheckOutRequest {
            resource,
            thread_key,
            sha,
            from: CheckOutFrom::Branch(branch),
        };
        // Not `check_out`, which could attach again without an end.
        match self.residents.check_out(&request, cancel).await {
            Ok(_) => Ok(true),
            Err(ResidentsError::Refused(refusal)) if refusal.token() == Token::UnknownRef => {
                Ok(false)
            }
            Err(error) => Err(of_error(&error)),
        }
    }

    /// Notes an attached tree, and hides the service's own folder in it from git.
    /// A new tree gets the work of the thread. Returns the checkpoint that it was made from.
    pub(in crate::residents) async fn adopt(
        &self,
        answer: &AttachResponse,
        cancel: &CancellationToken,
    ) -> Result<Option<Saved>, WorkspaceError> {
        let is_new = was_made(answer) || self.note().is_released;
        let note = {
            let mut note = lock(&self.note);
            note.bound = answer.git_ref.clone();
            let has_work = note.pushed.is_some() || note.saved.is_some();
            // Without its earlier work the tree is not the thread's yet, and the next run makes it anew.
            note.is_released = is_new && has_work;
            // The base of earlier work is that of the tree in which it was made.
            if was_made(answer) && !has_work {
                note.base = answer.sha.clone();
            }
            note.clone()
        };
        self.store(note).await?;
        if was_made(answer) {
            let line = script::quoted(&format!("/{KEPT_FOLDER}/"));
            let exclude =
                format!("mkdir -p .git/info && printf '%s\\n' {line} >>.git/info/exclude");
            // Not `text`, which could attach again without an end.
            let command = ExecCommand::parse(exclude)
                .map_err(|error| WorkspaceError::Infra(error.to_string()))?;
            let timeout_ms = i64::try_from(SCRIPT_TIMEOUT.as_millis()).unwrap_or(i64::MAX);
            let (resource, thread_key) = (self.note().resource, self.thread.clone());
            let request = ExecRequest {
                resource,
                thread_key,
                command,
                timeout_ms,
            };
            self.residents
                .exec(&request, cancel)
                .await
                .map_err(|error| of_error(&error))?;
        }
        if is_new {
            self.return_all(answer, cancel).await
        } else {
            Ok(None)
        }
    }

    /// Gives a new tree the pushed commits of the thread, and then the work that was not pushed.
    async fn return_all(
        &self,
        answer: &AttachResponse,
        cancel: &CancellationToken,
    ) -> Result<Option<Saved>, WorkspaceError> {
        let mut note = self.note();
        let had_work = note.pushed.is_some() || note.saved.is_some();
        if let Some(pushed) = note.pushed.clone()
            && !self.return_to(pushed, cancel).await?
        {
            note.pushed = None;
        }
        if let Some(saved) = note.saved.take() {
            note.saved = self.return_work(saved, answer, cancel).await?;
        }
        if had_work {
            note.is_released = false;
            if note.pushed.is_none() && note.saved.is_none() {
                note.base = answer.sha.clone();
            }
            self.store(note.clone()).await?;
        }
        Ok(note.saved)
    }
}
