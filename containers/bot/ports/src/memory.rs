//! The memory port: records remembered in each scope.
//!
//! Not here: a request's scopes, ranking the records, and the block in the prompt.

use ars_types::StoreKey;
use ars_wire::memory::{Candidate, MemoryRecord};
use async_trait::async_trait;

use super::StoreError;

/// Reads and writes memory by scope.
#[async_trait]
pub trait Memory: Send + Sync {
    /// Returns at most `limit` (1 to 50) matching records, best first, and counts them as used.
    ///
    /// Never fails: if the store does not answer, the result is empty, the failure is logged, and the run continues.
    async fn retrieve(&self, scope: &StoreKey, query: &str, limit: u32) -> Vec<MemoryRecord>;

    /// Writes at most 50 candidates atomically.
    async fn write(
        &self,
        scope: &StoreKey,
        candidates: &[Candidate],
    ) -> Result<Written, StoreError>;

    /// Returns at most `limit` (1 to 50) records that match `query`, newest first, without counting a use.
    async fn list(
        &self,
        scope: &StoreKey,
        query: Option<&str>,
        limit: u32,
    ) -> Result<Vec<MemoryRecord>, StoreError>;

    /// Hides a record permanently. Returns `false` without such an active record.
    async fn forget(&self, scope: &StoreKey, id: &str) -> Result<bool, StoreError>;
}

/// What writing candidates did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Candidates that became a record.
    pub inserted: u64,
    /// Candidates that duplicate an active record.
    pub deduped: u64,
    /// Records that a candidate replaced.
    pub superseded: u64,
    /// Records evicted because of the scope's cap.
    pub evicted: u64,
}
