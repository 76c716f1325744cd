//! Checkpoints a run's working tree: every few steps, and when the driver stops.
//!
//! A checkpoint that fails costs no run. Not here: how a tree is saved (the workspace).

use std::time::Duration;

use ars_bot_ports::{Checkpoint, Workspace, texts};
use ars_events::{EventBody, NoteKind};
use tokio_util::sync::CancellationToken;

use crate::registry::RunHandle;

/// Number of steps with side effects between two checkpoints.
pub(super) const CHECKPOINT_EVERY: u32 = 3;
/// Timeout for a checkpoint. A large repository's first checkpoint copies the history.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(120);

/// Saves a run's working tree. A new checkpoint is a note in the stream. Returns the tree's
/// checkpoint, if it has any.
pub(crate) async fn save_tree(workspace: &dyn Workspace, run: &RunHandle) -> Option<Checkpoint> {
    // Also for a stopped run, so a stop does not cancel it.
    let never = CancellationToken::new();
    let saved = workspace.checkpoint(run.id(), &never);
    match tokio::time::timeout(CHECKPOINT_TIMEOUT, saved).await {
        Ok(Ok(saved)) => {
            if let Some(saved) = saved.as_ref().filter(|saved| saved.is_new) {
                run.publish(EventBody::note(NoteKind::Tree, texts::tree_saved(saved)));
            }
            return saved;
        }
        Ok(Err(error)) => tracing::warn!(run = %run.id(), %error, "working tree not saved"),
        Err(_) => tracing::warn!(run = %run.id(), "working tree not saved in time"),
    }
    None
}
