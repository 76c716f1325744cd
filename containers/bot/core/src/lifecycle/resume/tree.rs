//! The working tree of a resumed run: the one that it worked in, or none.
//!
//! A new tree would lack the run's changes, while its conversation refers to them (docs/decisions/0013). Not here:
//! preparing trees (`dispatch`), and agents without one, which lose nothing.

use std::sync::Arc;

use ars_bot_ports::{Repository, Workspace, WorkspaceError, WorkspaceRequest};
use ars_types::{RefName, ThreadKey};
use tokio_util::sync::CancellationToken;

use crate::{context::RunContext, dispatch::is_same_place, error::Refused, live::Meta};

/// Opens the thread's tree, if its repository and ref are the run's.
/// Only this run may work in it, so it is unchanged when it is opened.
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
    let own = workspaces.repository_of(thread).await.map_err(not_ready)?.ok_or(Refused::TreeGone)?;
    if meta.repo.as_ref().is_some_and(|name| !is_of(context, &own, name)) {
        return Err(Refused::AnotherTree);
    }
    let git_ref = meta.git_ref.as_deref().and_then(|name| RefName::parse(name).ok());
    let request = WorkspaceRequest {
        git_ref: git_ref.as_ref(),
        agent: Some(&meta.agent),
        ..WorkspaceRequest::of(thread)
    };
    workspaces.open(request, &CancellationToken::new()).await.map_err(not_ready)
}

/// Returns whether the repository has this name, or the origin that is configured for it.
fn is_of(context: &RunContext, own: &Repository, name: &str) -> bool {
    let mut configured = context.settings().repositories.iter().filter(|known| known.name == name);
    own.name == name || configured.any(|known| is_same_place(&known.origin, &own.origin))
}
