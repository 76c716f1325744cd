//! Opens the workspace of a thread: the tree that is there, one of a checkpoint, or a new clone.

use std::{
    os::fd::OwnedFd,
    path::Path,
    sync::{Arc, Mutex},
};

use ars_bot_ports::{OpenFor, Workspace, WorkspaceError, WorkspaceRequest};
use ars_types::RefName;
use tokio_util::sync::CancellationToken;

use super::{
    FoundWorkspace, GitWorkspaces, TREE_ELSEWHERE, TREE_EVICTED, TREE_GONE, canonical, folder_name,
};
use crate::workspace::checkpoint::Saved;
use crate::workspace::{
    disk::{blocking, infra},
    files::Files,
    in_use::InUse,
    local::LocalWorkspace,
    meta::Meta,
    programs::Programs,
    session::Session,
};

impl GitWorkspaces {
    /// Returns the tree of a found workspace, or makes one: from a checkpoint, or by a clone.
    async fn found_or_made(
        &self,
        (root, name): (&Path, &str),
        (programs, cancel): (&Arc<Programs>, &CancellationToken),
        found: Option<FoundWorkspace>,
        remedy: Option<Saved>,
        request: WorkspaceRequest<'_>,
    ) -> Result<(Meta, (OwnedFd, InUse)), WorkspaceError> {
        let evicted = found
            .as_ref()
            .is_some_and(|found| found.meta.evicted && found.tree.is_none());
        let own = request.own.filter(|_| evicted);
        Ok(match found {
            Some(FoundWorkspace {
                meta,
                tree: Some(tree),
            }) => (meta, tree),
            Some(FoundWorkspace { meta, tree: None }) if let Some(saved) = remedy => {
                let repository = request.repository.or(request.own);
                self.remake((root, name), (programs, cancel), (meta, saved), repository)
                    .await?;
                self.made(name).await?
            }
            Some(FoundWorkspace { tree: None, meta })
                if matches!(request.purpose, OpenFor::View)
                    && meta.checkpoint.is_some()
                    && !evicted =>
            {
                return Err(WorkspaceError::NotFound(TREE_ELSEWHERE.into()));
            }
            // A run that continues must not find another tree than its own.
            Some(FoundWorkspace { tree: None, .. }) if request.repository.or(own).is_none() => {
                let reason = if evicted { TREE_EVICTED } else { TREE_GONE };
                return Err(WorkspaceError::Infra(reason.into()));
            }
            missing => {
                let former = missing.filter(|_| evicted);
                let git_ref = former.and_then(|found| RefName::parse(&found.meta.git_ref?).ok());
                let (repository, git_ref) = (
                    request.repository.or(own),
                    request.git_ref.or(git_ref.as_ref()),
                );
                let request = WorkspaceRequest {
                    repository,
                    git_ref,
                    ..request
                };
                self.make(root, name, (programs, cancel), request).await?;
                self.made(name).await?
            }
        })
    }

    /// Opens a workspace with a text for the run's reader about its place.
    pub(crate) async fn open_with_note(
        &self,
        request: WorkspaceRequest<'_>,
        note: Option<String>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let programs = self
            .programs()
            .map_err(|obstacle| WorkspaceError::Refused(obstacle.to_owned()))?;
        let name = folder_name(request.thread);
        let lock = self.lock_of(&name);
        let _alone = tokio::select! {
            alone = lock.lock() => alone,
            () = cancel.cancelled() => return Err(WorkspaceError::Cancelled),
        };
        let root = self.root.clone();
        let root = blocking(move || canonical(&root)).await?;
        let found = self.find(&name).await?;
        found
            .as_ref()
            .map_or(Ok(()), |found| found.meta.must_fit(request))?;
        let evicted = found
            .as_ref()
            .is_some_and(|found| found.meta.evicted && found.tree.is_none());
        let lost = found.as_ref().filter(|found| found.tree.is_none());
        let remedy = match lost {
            Some(lost) => self.remedy(&name, &lost.meta, request).await?,
            None => None,
        };
        let restored_from = remedy.as_ref().map(|saved| saved.checkpoint(false).git_ref);
        let (meta, (tree, in_use)) = self
            .found_or_made((&root, &name), (programs, cancel), found, remedy, request)
            .await?;
        in_use.touch().map_err(|error| infra(&error))?;
        let place = root.join(&name);
        let group = programs.sandbox.group_of_run();
        let workspace = Arc::new(LocalWorkspace {
            session: Arc::new(Session::new(programs.session(&place, group.clone()))),
            egress: self.egress(request.agent, &meta),
            group,
            programs: Arc::clone(programs),
            files: Arc::new(Files::new(place.join("tree"), tree)),
            place,
            repository: meta.repository,
            base: meta.base,
            is_cloned_again: evicted && restored_from.is_none(),
            restored_from,
            saved: tokio::sync::Mutex::new(meta.checkpoint.into()),
            origin: meta.origin,
            branch: Mutex::new(meta.branch.and_then(|branch| RefName::parse(branch).ok())),
            meta: (self.data_dir.clone(), name),
            code_host: self.logins.code_host().cloned(),
            in_use,
            note,
        });
        if !matches!(request.purpose, OpenFor::View) {
            workspace.session.prepare();
        }
        Ok(workspace)
    }
}
