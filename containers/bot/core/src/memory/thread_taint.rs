//! Whether a thread's history and files may have strangers' text.
//!
//! Each record has the run's sources, including those inherited from the thread. So the thread's
//! newest record decides. Without a record, they may: a record may have expired before the tree and
//! the history that the run left. Not here: the run's own sources (`taint`).

use std::time::Duration;

use ars_bot_ports::StoreError;
use ars_runs::StoredRun;
use ars_types::{RunId, ThreadKey};
use ars_wire::runs::ListRequest;

use crate::context::RunContext;

/// Records per page.
const PAGE: u32 = 100;
/// Maximum pages of the thread's channel that are searched. An older record counts as missing.
const MAX_PAGES: usize = 5;
/// Timeout for the search.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A run, and where it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Successor<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) thread: &'a ThreadKey,
    pub(crate) channel: &'a str,
}

/// Returns whether the thread's earlier runs may have left strangers' text.
pub(super) async fn is_inherited(context: &RunContext, successor: Successor<'_>) -> bool {
    let searched = tokio::time::timeout(TIMEOUT, search(context, successor)).await;
    match searched {
        Ok(Ok(is_tainted)) => is_tainted,
        Ok(Err(error)) => {
            tracing::warn!(run = %successor.run, error = %error, "the thread counts as tainted: its records are unknown");
            true
        }
        Err(_elapsed) => {
            tracing::warn!(run = %successor.run, "the thread counts as tainted: its records were not listed in time");
            true
        }
    }
}

async fn search(context: &RunContext, successor: Successor<'_>) -> Result<bool, StoreError> {
    let mut request = ListRequest {
        limit: Some(PAGE),
        channel: Some(successor.channel.to_owned()),
        diagnosis: Some(false),
        ..ListRequest::default()
    };
    for _ in 0..MAX_PAGES {
        let page = context.store().list(&request).await?;
        if let Some(newest) = page.items.iter().find(|run| successor.succeeds(run)) {
            return Ok(is_tainted(newest));
        }
        let Some(next) = page.next_before else { break };
        request.before = Some(next.finished_at);
        request.before_id = Some(next.id);
    }
    Ok(true)
}

impl Successor<'_> {
    /// Returns whether a run left something that this run reads. A command and a run without an
    /// answered model call leave none.
    fn succeeds(&self, run: &StoredRun) -> bool {
        let is_earlier =
            run.id != *self.run && run.thread_key.as_deref() == Some(self.thread.as_str());
        let has_begun = run
            .step_count
            .as_ref()
            .is_none_or(|steps| steps.as_u64() != Some(0));
        is_earlier && has_begun
    }
}

/// Returns whether a record names a source, or does not know the sources.
fn is_tainted(run: &StoredRun) -> bool {
    let sources = run.taint.as_ref().and_then(serde_json::Value::as_array);
    sources.is_none_or(|sources| !sources.is_empty())
}
