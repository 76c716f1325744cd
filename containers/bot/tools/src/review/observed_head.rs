//! The commit in a review's tree when the review is over.

use std::time::Duration;

use ars_bot_ports::Workspace;
use tokio::time::timeout;

/// Timeout for determining it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns the commit, or `None` if it cannot be determined in time.
pub async fn observed_head(workspace: Option<&dyn Workspace>) -> Option<String> {
    timeout(HEAD_TIMEOUT, workspace?.head()).await.ok()?.ok()?
}
