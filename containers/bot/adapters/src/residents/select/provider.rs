//! Opens, finds and restores trees for the port, on a resident or on the local disk.

use std::sync::Arc;

use ars_bot_ports::{
    Checkpoint, CommandSandbox, OpenFor, Repository, Workspace, WorkspaceError, WorkspaceProvider,
    WorkspaceRequest,
};
use ars_resident::names::Sha;
use ars_types::{RefName, RunId, StrictRefName, ThreadKey};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::{
    NO_BRANCH, NO_COMMIT, OF_MIRROR, ResidentPlaces, ResidentWorkspaces, Unfit, blocking,
    local_note,
};
use crate::logins::without_userinfo;
use crate::residents::bindings::Note;

#[async_trait]
impl WorkspaceProvider for ResidentWorkspaces {
    fn sandbox(&self) -> Option<CommandSandbox> {
        self.local.sandbox()
    }

    async fn repository_of(
        &self,
        thread: &ThreadKey,
    ) -> Result<Option<Repository>, WorkspaceError> {
        match self.note(thread).await? {
            Some(note) => Ok(Some(note.repository())),
            None => self.local.repository_of(thread).await,
        }
    }

    async fn find_elsewhere(
        &self,
        thread: &ThreadKey,
        repository: &Repository,
    ) -> Result<bool, WorkspaceError> {
        let Some(note) = new_note(&self.places, repository, None) else {
            return Ok(false);
        };
        let tree = self.tree(thread, note.clone(), OpenFor::View);
        // The tree of a review has no branch.
        let script = "b=$(git symbolic-ref --short -q HEAD || git symbolic-ref --short refs/remotes/origin/HEAD | sed \
                      's,^origin/,,'); [ \"$b\" ] || exit 1; echo \"$b\"; git merge-base HEAD \
                      \"refs/remotes/origin/$b\" || git rev-parse HEAD; git remote get-url origin";
        let text = match tree.text(script, &CancellationToken::new()).await {
            Ok(text) => text,
            Err(error) if error.needs_attach() => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut lines = text.lines();
        let bound = lines
            .next()
            .and_then(|line| StrictRefName::parse(line.trim()).ok());
        let base = lines.next().and_then(|line| Sha::parse(line.trim()).ok());
        let (Some(bound), Some(base)) = (bound, base) else {
            return Ok(false);
        };
        let is_readonly = lines
            .next()
            .is_some_and(|origin| origin.trim().ends_with(OF_MIRROR));
        let (notes, thread) = (self.notes.clone(), thread.clone());
        blocking(move || {
            notes.write(
                &thread,
                &Note {
                    bound,
                    base,
                    is_readonly,
                    ..note
                },
            )
        })
        .await?;
        Ok(true)
    }

    async fn restore(
        &self,
        thread: &ThreadKey,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Result<Checkpoint, WorkspaceError> {
        match self.note(thread).await? {
            Some(note) => {
                self.tree(thread, note, OpenFor::Run)
                    .restore(run, cancel)
                    .await
            }
            None => self.local.restore(thread, run, cancel).await,
        }
    }

    async fn open(
        &self,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        if let Some(note) = self.note(request.thread).await? {
            return self.reopen(note, request, cancel).await;
        }
        let repository = match (request.purpose, request.repository) {
            (OpenFor::Run, Some(repository)) if !self.local.has(request.thread).await? => {
                repository
            }
            _ => return self.local.open(request, cancel).await,
        };
        // A step of a resident does not name the agent of its run, so its commands would not have the agent's hosts.
        let is_named = self.places.are_local
            && request
                .agent
                .is_some_and(|agent| self.local.names_agent(agent));
        let note = new_note(&self.places, repository, request.git_ref).filter(|_| !is_named);
        let Some(note) = note else {
            return self.local.open(request, cancel).await;
        };
        let resource = note.resource.clone();
        let why = match self.start(note, request, None, cancel).await {
            Ok(workspace) => return Ok(workspace),
            Err(Unfit::Failed(error)) => return Err(error),
            Err(Unfit::NotOnboarded) if self.places.are_local => {
                return self
                    .open_and_onboard(resource, repository, request, cancel)
                    .await;
            }
            Err(Unfit::NotOnboarded) => Some(format!(
                "{name} has no resident; `repo onboard {name}` keeps it warm",
                name = repository.name
            )),
            Err(Unfit::NotNow(reason)) => Some(reason),
        };
        self.local
            .open_with_note(request, why.as_deref().map(local_note), cancel)
            .await
    }
}

/// Returns the note about a tree that is not attached yet.
fn new_note(
    places: &ResidentPlaces,
    repository: &Repository,
    git_ref: Option<&RefName>,
) -> Option<Note> {
    Some(Note {
        repository: repository.name.clone(),
        origin: without_userinfo(&repository.origin),
        resource: (places.resource_of)(repository)?,
        git_ref: git_ref.and_then(RefName::strict),
        bound: StrictRefName::parse(NO_BRANCH).ok()?,
        base: Sha::parse(NO_COMMIT).ok()?,
        pushed: None,
        saved: None,
        is_readonly: false,
        is_released: false,
    })
}
