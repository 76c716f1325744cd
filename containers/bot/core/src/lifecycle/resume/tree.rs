//! A resumed run's working tree: the tree that it worked in, or none.
//!
//! A new tree would lack the run's changes, while the conversation refers to them
//! (docs/decisions/0013). Not here: preparing trees (`dispatch`), and agents without a tree, which
//! lose nothing.

use std::sync::Arc;

use ars_bot_ports::{OpenFor, Repository, TreeAccess, Workspace, WorkspaceError, WorkspaceRequest};
use ars_bot_tools::agents::{self, AgentSpec};
use ars_types::{RefName, ThreadKey};
use tokio_util::sync::CancellationToken;

use crate::{context::RunContext, error::Refused, gates::is_same_place, live::Meta};

/// Opens the thread's tree, if the repository and ref are the run's. Only this run may work in it,
/// so it is unchanged when it is opened.
pub(super) async fn reopen(
    context: &RunContext,
    thread: &ThreadKey,
    meta: &Meta,
) -> Result<Arc<dyn Workspace>, Refused> {
    let not_ready = |error: WorkspaceError| match error {
        WorkspaceError::Infra(_) | WorkspaceError::Busy => Refused::Disk(error.to_string()),
        _ => Refused::Workspace(error.to_string()),
    };
    let workspaces = &context.deps().workspaces;
    let own = match workspaces.repository_of(thread).await.map_err(not_ready)? {
        Some(own) => own,
        None => found_elsewhere(context, thread, meta).await?,
    };
    if meta
        .repo
        .as_ref()
        .is_some_and(|name| !is_of(context, &own, name))
    {
        return Err(Refused::AnotherTree);
    }
    let git_ref = meta
        .git_ref
        .as_deref()
        .and_then(|name| RefName::parse(name).ok());
    let request = WorkspaceRequest {
        git_ref: git_ref.as_ref(),
        agent: Some(&meta.agent),
        access: agents::find(&meta.agent).map_or(TreeAccess::Write, AgentSpec::tree_access),
        purpose: OpenFor::Resume,
        ..WorkspaceRequest::for_thread(thread)
    };
    workspaces
        .open(request, &CancellationToken::new())
        .await
        .map_err(not_ready)
}

/// Returns the repository of a tree that outlived the disk of the run's first process.
async fn found_elsewhere(
    context: &RunContext,
    thread: &ThreadKey,
    meta: &Meta,
) -> Result<Repository, Refused> {
    let known = meta.repo.as_ref().and_then(|name| {
        context
            .settings()
            .repositories
            .iter()
            .find(|known| known.name == *name)
            .cloned()
    });
    let repository = known.ok_or(Refused::TreeGone)?;
    match context
        .deps()
        .workspaces
        .find_elsewhere(thread, &repository)
        .await
    {
        Ok(true) => Ok(repository),
        Ok(false) => Err(Refused::TreeGone),
        Err(error) => Err(Refused::Disk(error.to_string())),
    }
}

/// Returns whether the repository has this name, or the origin that is configured for it.
fn is_of(context: &RunContext, own: &Repository, name: &str) -> bool {
    let mut configured = context
        .settings()
        .repositories
        .iter()
        .filter(|known| known.name == name);
    own.name == name || configured.any(|known| is_same_place(&known.origin, &own.origin))
}
