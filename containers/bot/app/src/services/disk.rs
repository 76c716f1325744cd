//! Keeps the workspaces within their limit on the disk.

use std::{sync::Arc, time::Duration};

use ars_bot_adapters::workspace::{Evicted, GitWorkspaces};
use ars_bot_core::Core;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::Service;

/// Interval between workspace measurements.
pub const MEASURE_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Share of the whole disk that workspaces may fill, whatever their limit, in percent.
const DISK_SHARE_PERCENT: u64 = 70;

/// Measures the workspaces and evicts clean workspaces when they exceed their limit.
pub struct DiskService {
    /// Knows the live runs.
    pub core: Core,
    /// Workspaces that are measured.
    pub workspaces: Arc<GitWorkspaces>,
    /// Maximum bytes for all workspaces.
    pub max_bytes: u64,
    /// The time between two measurements.
    pub interval: Duration,
}

impl DiskService {
    /// Returns the limit, or the share on a smaller disk: an eviction needs some free space itself.
    fn limit(&self) -> u64 {
        let share = |size: u64| size / 100 * DISK_SHARE_PERCENT;
        self.workspaces
            .disk_size()
            .map_or(self.max_bytes, |size| self.max_bytes.min(share(size)))
    }

    async fn make_room(&self) -> anyhow::Result<()> {
        let usage = self.workspaces.measure().await?;
        let used = usage.bytes();
        let limit = self.limit();
        if used <= limit {
            return Ok(());
        }
        // Read after the measurement, which has the last-use times.
        let live = self.core.live_threads().await?;
        let Evicted {
            freed_bytes,
            count,
            kept,
        } = self.workspaces.evict(usage, &live, limit).await?;
        let left = used.saturating_sub(freed_bytes);
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
            tokio::time::sleep(self.interval).await;
            if let Err(error) = self.make_room().await {
                tracing::warn!(%error, "the disk of working trees was not looked at");
            }
        };
        while stop.run_until_cancelled(pass()).await.is_some() {}
    }
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
