//! The memory of an installation without memory: it stores no records and finds none.

use ars_bot_ports::{Memory, StoreError, Written};
use ars_types::StoreKey;
use ars_wire::memory::{Candidate, MemoryRecord};
use async_trait::async_trait;

/// A memory without records.
pub struct NoMemory;

#[async_trait]
impl Memory for NoMemory {
    async fn retrieve(&self, _scope: &StoreKey, _query: &str, _limit: u32) -> Vec<MemoryRecord> {
        Vec::new()
    }

    async fn write(&self, _scope: &StoreKey, _candidates: &[Candidate]) -> Result<Written, StoreError> {
        Ok(Written::default())
    }

    async fn list(
        &self,
        _scope: &StoreKey,
        _query: Option<&str>,
        _limit: u32,
    ) -> Result<Vec<MemoryRecord>, StoreError> {
        Ok(Vec::new())
    }

    async fn forget(&self, _scope: &StoreKey, _id: &str) -> Result<bool, StoreError> {
        Ok(false)
    }
}
