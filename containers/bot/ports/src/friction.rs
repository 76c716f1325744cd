//! The friction port: what slowed runs, by ledger (state-worker supplement section 3).

use ars_types::{StoreKey, UnixMillis};
use ars_wire::friction::FrictionRecord;
use async_trait::async_trait;

use super::StoreError;

/// Friction ledgers.
#[async_trait]
pub trait FrictionRecords: Send + Sync {
    /// Keeps a diagnosis in place of what its run had; answers how many the ledger now holds.
    async fn record(&self, ledger: &StoreKey, record: &FrictionRecord) -> Result<u64, StoreError>;

    /// The newest diagnoses, oldest first: at most `limit` (1 to 1000; 500 when `None`), finished at or after `since`.
    async fn recent(
        &self,
        ledger: &StoreKey,
        limit: Option<u32>,
        since: Option<UnixMillis>,
    ) -> Result<Vec<FrictionRecord>, StoreError>;
}
