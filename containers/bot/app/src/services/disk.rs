//! Keeps the workspaces within their limit on the disk.

use std::{sync::Arc, time::Duration};

use ars_bot_adapters::workspace::{Evicted, GitWorkspaces};
use ars_bot_core::Core;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::Service;

/// Interval between measurements of the workspaces.
const MEASURE_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Measures the workspaces and evicts clean ones when they exceed their limit.
pub struct DiskService {
    /// Knows the live runs.
    pub core: Core,
    /// The workspaces.
    pub workspaces: Arc<GitWorkspaces>,
    /// The limit.
    pub max_bytes: u64,
}

impl DiskService {
    async fn make_room(&self) -> anyhow::Result<()> {
        let usage = self.workspaces.measure().await?;
        let used = usage.bytes();
        if used <= self.max_bytes {
            return Ok(());
        }
        // Read after the measurement, which has the times of last use.
        let live = self.core.live_threads().await?;
        let Evicted { freed_bytes, count, kept } =
            self.workspaces.evict(usage, &live, self.max_bytes).await?;
        let (limit, left) = (self.max_bytes, used.saturating_sub(freed_bytes));
        if left > limit {
            tracing::warn!(
                left,
                limit,
                count,
                ?kept,
                "working trees exceed limits.workspaceBytes: they have unsaved work or are in use"
            );
        }
        Ok(())
    }
}

#[async_trait]
impl Service for DiskService {
    fn name(&self) -> &'static str {
        "disk"
    }

    async fn run(self, stop: CancellationToken) {
        let pass = async || {
            tokio::time::sleep(MEASURE_INTERVAL).await;
            if let Err(error) = self.make_room().await {
                tracing::warn!(%error, "the disk of working trees was not looked at");
            }
        };
        while stop.run_until_cancelled(pass()).await.is_some() {}
    }
}
