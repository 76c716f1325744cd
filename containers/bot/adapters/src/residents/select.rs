//! Selects the place of a thread's tree: the resident of its repository, or the local disk.
//!
//! A thread stays where its tree is. A new tree is made on the resident, if the repository has one that serves; in any
//! other case it is local, and the run's reader learns why. A tree on a resident that may have unsaved work is never
//! replaced by a local one.

mod provider;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ars_bot_ports::{
    OpenFor, Placement, Repository, Residents, ResidentsError, TreeAccess, Workspace,
    WorkspaceError, WorkspaceProvider, WorkspaceRequest,
};
use ars_resident::{
    names::Resource,
    refusal::Token,
    wire::{AttachResponse, StatusRequest, StatusResponse},
};
use ars_types::{RefName, StrictRefName, ThreadKey, TreePlace};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    auto::AutoOnboarding,
    bindings::{Note, Notes},
    tree::{ResidentTree, TreeError, short, was_made},
    workspace::ResidentWorkspace,
};
use crate::{logins::without_userinfo, workspace::GitWorkspaces};

/// Time after a failed probe in which no other one is sent.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(30);
/// A commit that stands for an unknown one until the tree is attached.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";
/// A branch that stands for an unknown one until the tree is attached.
const NO_BRANCH: &str = "HEAD";
/// The end of the origin of a tree without a token.
const OF_MIRROR: &str = "/mirror";
/// The text about a tree that is made again.
const TREE_LOST: &str = "the earlier working tree is not on the resident any more";
/// The error of a tree that a resident does not have any more.
const TREE_GONE: &str = "the working tree of this thread is not on its resident any more";
/// The error of a viewed tree that was removed.
const TREE_RELEASED: &str = "the working tree of this thread had no unsaved work and was removed: the next message of \
                             the thread makes it again";

/// Returns the resource of a repository, or `None` for one that can have no resident.
pub type ResourceOf = Arc<dyn Fn(&Repository) -> Option<Resource> + Send + Sync>;

/// How residents are used.
#[derive(Clone)]
pub struct ResidentPlaces {
    /// Resources of repositories.
    pub resource_of: ResourceOf,
    /// Commands of residents run on this machine, in the sandbox of local trees.
    pub are_local: bool,
}

/// Workspaces on residents, and on the local disk.
pub struct ResidentWorkspaces {
    local: Arc<GitWorkspaces>,
    residents: Arc<dyn Residents>,
    places: ResidentPlaces,
    notes: Notes,
    onboarding: Option<Arc<AutoOnboarding>>,
    /// The end of the pause after a failed probe, with its reason.
    unreachable: Mutex<Option<(Instant, String)>>,
}

/// Why a tree is not on a resident.
enum Unfit {
    /// The repository has no resident.
    NotOnboarded,
    /// The resident does not serve now. The text is for people.
    NotNow(String),
    /// The caller stops.
    Failed(WorkspaceError),
}

impl Unfit {
    /// Returns the error of a thread that must not work elsewhere.
    fn into_error(self) -> WorkspaceError {
        match self {
            Self::Failed(error) => error,
            Self::NotNow(reason) => WorkspaceError::Infra(format!("{reason}: try again later")),
            Self::NotOnboarded => WorkspaceError::Infra(TREE_GONE.to_owned()),
        }
    }
}

impl ResidentWorkspaces {
    /// Makes the provider. Notes about threads are in the data directory.
    pub fn new(
        local: Arc<GitWorkspaces>,
        residents: Arc<dyn Residents>,
        places: ResidentPlaces,
        data_dir: &Path,
    ) -> Self {
        let notes = Notes::new(data_dir);
        Self {
            local,
            residents,
            places,
            notes,
            onboarding: None,
            unreachable: Mutex::default(),
        }
    }

    /// Onboards repositories that runs work on.
    #[must_use]
    pub fn with_onboarding(mut self, onboarding: AutoOnboarding) -> Self {
        self.onboarding = Some(Arc::new(onboarding));
        self
    }

    async fn note(&self, thread: &ThreadKey) -> Result<Option<Note>, WorkspaceError> {
        let (notes, thread) = (self.notes.clone(), thread.clone());
        blocking(move || notes.read(&thread)).await
    }

    fn tree(&self, thread: &ThreadKey, note: Note, purpose: OpenFor) -> ResidentTree {
        let may_attach = purpose != OpenFor::View;
        ResidentTree::new(
            Arc::clone(&self.residents),
            self.notes.clone(),
            thread.clone(),
            note,
            may_attach,
        )
    }

    fn workspace(
        &self,
        tree: ResidentTree,
        note: String,
        restored_from: Option<String>,
    ) -> Arc<dyn Workspace> {
        let sandbox = self.local.sandbox().filter(|_| self.places.are_local);
        let placement = Placement {
            tree: TreePlace::Resident,
            sandbox,
            note: Some(note),
        };
        let Note {
            repository, origin, ..
        } = tree.note();
        let known_refused = Mutex::default();
        Arc::new(ResidentWorkspace {
            repository,
            origin,
            tree,
            placement,
            restored_from,
            known_refused,
        })
    }

    /// Opens the tree that a thread has on a resident.
    async fn reopen(
        &self,
        note: Note,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let origin = request
            .repository
            .map(|repository| without_userinfo(&repository.origin));
        note.must_fit(request, origin.as_deref())?;
        if note.is_released {
            return match request.purpose {
                OpenFor::View => Err(WorkspaceError::Infra(TREE_RELEASED.to_owned())),
                OpenFor::Run | OpenFor::Resume => self.restart(note, request, cancel).await,
            };
        }
        if note.is_readonly
            && request.access == TreeAccess::Write
            && request.purpose != OpenFor::View
        {
            return self
                .start(note, request, None, cancel)
                .await
                .map_err(Unfit::into_error);
        }
        let tree = self.tree(request.thread, note, OpenFor::View);
        let found = tree
            .text("git rev-parse --verify --quiet HEAD || true", cancel)
            .await;
        let note = tree.note();
        match found {
            Ok(head) => {
                let text = self.shown(
                    &note,
                    &format!("{}@{}", note.bound, short(head.trim())),
                    None,
                );
                let tree = self.tree(request.thread, note, request.purpose);
                Ok(self.workspace(tree, text, None))
            }
            Err(error) => match request.purpose {
                OpenFor::View => Err(error.into()),
                OpenFor::Run | OpenFor::Resume => self.missed(note, error, request, cancel).await,
            },
        }
    }

    /// Decides about a tree that was not found on its resident.
    async fn missed(
        &self,
        note: Note,
        error: TreeError,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let is_gone = match self.probe(&note.resource, cancel).await {
            // The offboarding removed the tree with everything else.
            Err(Unfit::NotOnboarded) => true,
            Err(Unfit::Failed(error)) => return Err(error),
            // The tree may have unsaved work, so no other one takes its place.
            Err(Unfit::NotNow(reason)) => {
                return Err(WorkspaceError::Infra(format!(
                    "the working tree of this thread is on a resident, and {reason}: try again later"
                )));
            }
            Ok(_) => error.needs_attach(),
        };
        match (is_gone, request.purpose) {
            (true, OpenFor::Run) => {
                self.restart_with(note, request, Some(TREE_LOST), cancel)
                    .await
            }
            (true, OpenFor::Resume) if note.saved.is_some() || note.pushed.is_some() => self
                .start(note, request, Some(TREE_LOST), cancel)
                .await
                .map_err(Unfit::into_error),
            (true, _) => Err(WorkspaceError::Infra(TREE_GONE.to_owned())),
            (false, _) => Err(error.into()),
        }
    }

    async fn restart(
        &self,
        note: Note,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        self.restart_with(note, request, None, cancel).await
    }

    /// Makes the tree of a thread again, on its resident if that serves.
    async fn restart_with(
        &self,
        note: Note,
        request: WorkspaceRequest<'_>,
        lost: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let own = note.repository();
        let first = note
            .git_ref
            .as_ref()
            .and_then(|first| RefName::parse(first.as_str()).ok());
        let has_saved = note.saved.is_some();
        let request = WorkspaceRequest {
            repository: request.repository.or(request.own).or(Some(&own)),
            git_ref: request.git_ref.or(first.as_ref()),
            ..request
        };
        match self.start(note, request, lost, cancel).await {
            Ok(workspace) => Ok(workspace),
            // The note is the way to the saved work.
            Err(unfit @ Unfit::NotNow(_)) if has_saved => Err(unfit.into_error()),
            Err(Unfit::Failed(error)) => Err(error),
            Err(unfit) => {
                let (notes, thread) = (self.notes.clone(), request.thread.clone());
                blocking(move || notes.remove(&thread)).await?;
                let why = match unfit {
                    Unfit::NotOnboarded | Unfit::Failed(_) => {
                        format!("{} has no resident any more", own.name)
                    }
                    Unfit::NotNow(reason) => reason,
                };
                self.local
                    .open_with_note(request, Some(local_note(&why)), cancel)
                    .await
            }
        }
    }

    /// Makes a tree on a resident that serves.
    async fn start(
        &self,
        note: Note,
        request: WorkspaceRequest<'_>,
        lost: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, Unfit> {
        let status = self.probe(&note.resource, cancel).await?;
        let wanted = request.git_ref.map(strict).transpose()?;
        let hint = wanted
            .clone()
            .or_else(|| Some(note.bound.clone()))
            .filter(|hint| hint.as_str() != NO_BRANCH);
        // The tree of another mode is replaced by the resident, after it was saved.
        let note = Note {
            is_readonly: request.access == TreeAccess::Read,
            ..note
        };
        let tree = self.tree(request.thread, note, request.purpose);
        let answer = tree
            .attach(hint.as_ref(), cancel)
            .await
            .map_err(|error| match error {
                ResidentsError::Cancelled => Unfit::Failed(WorkspaceError::Cancelled),
                error => Unfit::NotNow(format!("the resident rejected the attach: {error}")),
            })?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != answer.git_ref) {
            return Err(Unfit::Failed(WorkspaceError::Refused(format!(
                "this thread works on {}, not on {wanted}. Use another thread for another ref.",
                answer.git_ref
            ))));
        }
        let returned = tree.adopt(&answer, cancel).await.map_err(Unfit::Failed)?;
        let extra = lost.filter(|_| was_made(&answer));
        let has_work = returned.is_some() || tree.note().pushed.is_some();
        if extra.is_some() && request.purpose == OpenFor::Resume && !has_work {
            return Err(Unfit::Failed(WorkspaceError::Infra(TREE_GONE.to_owned())));
        }
        let place = tree.place(&answer, returned.as_ref());
        let text = self.shown(&tree.note(), &place, Some((&status, &answer, extra)));
        Ok(self.workspace(tree, text, returned.map(|saved| saved.git_ref)))
    }

    /// Returns the text about a tree on a resident.
    fn shown(
        &self,
        note: &Note,
        place: &str,
        attached: Option<(&StatusResponse, &AttachResponse, Option<&str>)>,
    ) -> String {
        let mut text = format!("resident · {} · {place}", note.resource.slug());
        if let Some((status, answer, lost)) = attached {
            if let Some(reason) = &status.reason {
                text.push_str(&format!(" · {} ({reason})", status.state.as_str()));
            }
            text.push_str(&format!(" · {} ms", answer.attach_ms));
            if let Some(lost) = lost {
                text.push_str(&format!(" · {lost}"));
            }
        }
        ars_events::clean(&text, 300)
    }

    /// Asks for the state of a resident. Only a failed transport is remembered.
    async fn probe(
        &self,
        resource: &Resource,
        cancel: &CancellationToken,
    ) -> Result<StatusResponse, Unfit> {
        if let Some(reason) = self.paused() {
            return Err(Unfit::NotNow(reason));
        }
        let request = StatusRequest {
            resource: resource.clone(),
        };
        match self.residents.status(&request, cancel).await {
            Ok(status) if status.is_serviceable() => Ok(status),
            Ok(status) => {
                let reason = status
                    .reason
                    .map(|reason| format!(" ({reason})"))
                    .unwrap_or_default();
                let state = status.state.as_str();
                Err(Unfit::NotNow(format!(
                    "the resident of {} is {state}{reason}",
                    resource.slug()
                )))
            }
            Err(ResidentsError::Refused(refusal)) if refusal.token() == Token::NotOnboarded => {
                Err(Unfit::NotOnboarded)
            }
            Err(ResidentsError::Cancelled) => Err(Unfit::Failed(WorkspaceError::Cancelled)),
            Err(error @ ResidentsError::Unreachable(_)) => {
                let reason = error.to_string();
                let until = Instant::now() + UNREACHABLE_PAUSE;
                let mut pause = self
                    .unreachable
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                *pause = Some((until, reason.clone()));
                Err(Unfit::NotNow(reason))
            }
            Err(error) => Err(Unfit::NotNow(error.to_string())),
        }
    }

    fn paused(&self) -> Option<String> {
        let pause = self
            .unreachable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pause
            .as_ref()
            .filter(|(until, _)| Instant::now() < *until)
            .map(|(_, reason)| reason.clone())
    }
}

impl ResidentWorkspaces {
    /// Opens a local tree of a repository without a resident, which may get one for later threads.
    async fn open_and_onboard(
        &self,
        resource: Resource,
        repository: &Repository,
        request: WorkspaceRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn Workspace>, WorkspaceError> {
        let offered = self.onboarding.as_ref().and_then(|onboarding| {
            let why = onboarding.offer(repository, &resource)?;
            Some((onboarding, why))
        });
        let Some((onboarding, why)) = offered else {
            // On one machine a repository without a resident is usual, so it needs no text.
            return self.local.open(request, cancel).await;
        };
        let tree = self
            .local
            .open_with_note(request, Some(local_note(&why)), cancel)
            .await?;
        onboarding.begin(resource, Arc::clone(&tree));
        Ok(tree)
    }
}

/// Returns a ref as residents accept it.
fn strict(git_ref: &RefName) -> Result<StrictRefName, Unfit> {
    let unfit = || {
        Unfit::NotNow(format!(
            "residents accept no ref with the characters of {git_ref}"
        ))
    };
    git_ref.strict().ok_or_else(unfit)
}

/// Returns the text about a local tree of a repository with a resident.
fn local_note(why: &str) -> String {
    ars_events::clean(&format!("local working tree: {why}"), 300)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    let broke_off = || WorkspaceError::Infra("reading a note broke off".to_owned());
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(broke_off()))
}
