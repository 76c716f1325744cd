//! The changes in the working tree of a run's thread.

use ars_bot_ports::{WorkspaceError, WorkspaceRequest};
use ars_types::RunId;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{Found, Queries, QueryError, Reader, RunView};

/// Most diffs that are computed at once. Each runs git over a whole tree.
const MAX_DIFFS: usize = 2;

/// Permits for [`MAX_DIFFS`] diffs in the whole process.
static PERMITS: Semaphore = Semaphore::const_new(MAX_DIFFS);

/// The changes in a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeDiff {
    /// A redacted unified diff against the thread's starting commit; empty if nothing changed.
    Text(String),
    /// The thread has no working tree, or the viewer may not see it.
    NoTree,
    /// The thread has a newer live run, which changes the tree now.
    InUse,
    /// Other diffs are computed now.
    Busy,
    /// Git failed in the tree.
    Failed,
}

impl Queries {
    /// Returns a run with the current changes in the thread's working tree.
    ///
    /// The tree belongs to the thread, so it may show work by other users of the channel. A viewer
    /// who may read a finished run only because they started it gets [`TreeDiff::NoTree`].
    ///
    /// # Errors
    ///
    /// As [`Queries::get`].
    pub async fn diff(
        &self,
        reader: &Reader<'_>,
        id: &RunId,
    ) -> Result<(Found, TreeDiff), QueryError> {
        let found = self.get(reader, id).await?;
        let diff = match &found {
            Found::Live(run) => self.tree_diff(run).await,
            Found::Finished(run)
                if !reader.viewer.may_read(&run.channel_id, run.visibility, "") =>
            {
                TreeDiff::NoTree
            }
            Found::Finished(run) if self.is_thread_live(run).await => TreeDiff::InUse,
            Found::Finished(run) => self.tree_diff(run).await,
        };
        Ok((found, diff))
    }

    /// Returns whether the thread has a live run, in any process.
    pub(super) async fn is_thread_live(&self, run: &RunView) -> bool {
        let Some(thread) = &run.thread_key else {
            return false;
        };
        let listing = self.live_rows().await;
        self.context.threads().occupant(thread).is_some()
            || listing
                .rows()
                .iter()
                .filter_map(|row| row.facts.as_ref())
                .any(|facts| facts.thread_key == *thread)
    }

    async fn tree_diff(&self, run: &RunView) -> TreeDiff {
        let Some(thread) = &run.thread_key else {
            return TreeDiff::NoTree;
        };
        let workspaces = &self.context.deps().workspaces;
        // Opening a workspace that does not exist would create it.
        match workspaces.repository_of(thread).await {
            Ok(Some(_)) => {}
            Ok(None) => return TreeDiff::NoTree,
            Err(error) => return failed(run, &error),
        }
        let Ok(_permit) = PERMITS.try_acquire() else {
            return TreeDiff::Busy;
        };
        let request = WorkspaceRequest::for_thread(thread);
        // Ends the opening when the viewer disconnects. `Workspace::diff` takes no token.
        let cancel = CancellationToken::new();
        let _cancelled = cancel.clone().drop_guard();
        let diff = match workspaces.open(request, &cancel).await {
            Ok(workspace) => workspace.diff().await,
            Err(error) => Err(error),
        };
        match diff {
            Ok(text) => TreeDiff::Text(self.context.deps().redactor.redact(&text).into_owned()),
            Err(WorkspaceError::NotFound(_)) => TreeDiff::NoTree,
            Err(error) => failed(run, &error),
        }
    }
}

fn failed(run: &RunView, error: &WorkspaceError) -> TreeDiff {
    tracing::warn!(run = %run.id, error = %error, "working tree not compared");
    TreeDiff::Failed
}
