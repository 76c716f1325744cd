//! Authorizes a reflection's cost before the call.

use async_trait::async_trait;

/// Authorizes and records a reflection's cost.
#[async_trait]
pub trait SpendGuard: Send + Sync {
    /// Returns whether this amount may be spent, in millionths of a dollar.
    async fn may_spend(&self, most: u64) -> bool;

    /// Records a spent amount.
    fn spent(&self, microusd: u64);
}
