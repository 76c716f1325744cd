//! Waits between attempts, which tests replace.

use std::time::Duration;

use async_trait::async_trait;

/// Waits before the next attempt.
#[async_trait]
pub trait Pause: Send + Sync {
    /// Waits for this time.
    async fn wait(&self, time: Duration);
}

/// Waits with the runtime's timer.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioPause;

#[async_trait]
impl Pause for TokioPause {
    async fn wait(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
