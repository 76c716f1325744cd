//! The friction port: run diagnoses, by ledger.

use ars_types::{StoreKey, UnixMillis};
use ars_wire::friction::FrictionRecord;
use async_trait::async_trait;

use super::StoreError;

/// Records and reads friction ledgers.
#[async_trait]
pub trait FrictionRecords: Send + Sync {
    /// Writes a diagnosis, replacing the run's earlier diagnosis. Returns how many the ledger
    /// holds.
    async fn record(&self, ledger: &StoreKey, record: &FrictionRecord) -> Result<u64, StoreError>;

    /// Returns the newest diagnoses, oldest first, that finished at or after `since`.
    /// At most `limit` are returned (1 to 1000, default 500).
    async fn recent(
        &self,
        ledger: &StoreKey,
        limit: Option<u32>,
        since: Option<UnixMillis>,
    ) -> Result<Vec<FrictionRecord>, StoreError>;
}
