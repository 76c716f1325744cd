//! The commit that a review's tree stands on when the review is over (bot supplement section 17, head guard).

use std::time::Duration;

use ars_bot_ports::Workspace;
use tokio::time::timeout;

/// How long an answer waits for it.
const PATIENCE: Duration = Duration::from_secs(3);

/// The commit; none when it cannot be told.
pub async fn observed_head(workspace: Option<&dyn Workspace>) -> Option<String> {
    timeout(PATIENCE, workspace?.head()).await.ok()?.ok()?
}
