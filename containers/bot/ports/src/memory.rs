//! The memory port: what is remembered in each scope (document 2 sections 2.2 and 7, state-worker supplement
//! section 12).
//!
//! Not here: which scopes a request has, how their records are ranked together, and what gets into a prompt.

use ars_types::StoreKey;
use ars_wire::memory::{Candidate, MemoryRecord};
use async_trait::async_trait;

use super::StoreError;

/// Memory, by scope.
#[async_trait]
pub trait Memory: Send + Sync {
    /// At most `limit` (1 to 50) records that match, best first; counts as use.
    ///
    /// Never fails: a store that does not answer remembers nothing, which is logged, and the run goes on.
    async fn retrieve(&self, scope: &StoreKey, query: &str, limit: u32) -> Vec<MemoryRecord>;

    /// Takes in at most 50 candidates, all of them or none.
    async fn write(&self, scope: &StoreKey, candidates: &[Candidate]) -> Result<Written, StoreError>;

    /// At most `limit` (1 to 50) records, of those that match `query` if there is one; newest first. Not a use.
    async fn list(
        &self,
        scope: &StoreKey,
        query: Option<&str>,
        limit: u32,
    ) -> Result<Vec<MemoryRecord>, StoreError>;

    /// Hides a record for good; false when there was no such active one.
    async fn forget(&self, scope: &StoreKey, id: &str) -> Result<bool, StoreError>;
}

/// What became of candidates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Candidates that became a record.
    pub inserted: u64,
    /// Candidates that an active record said already.
    pub deduped: u64,
    /// Records that a candidate took the place of.
    pub superseded: u64,
    /// Records beyond the scope's cap.
    pub evicted: u64,
}
