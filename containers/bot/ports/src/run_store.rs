//! The run store port: the state Worker or the embedded store, indistinguishable to callers.

use ars_runs::{RunRecord, StoredRun};
use ars_types::RunId;
use ars_wire::runs::{EventsPage, ListRequest, ListResponse};
use async_trait::async_trait;
use serde_json::Value;

use super::StoreError;

/// Stores the durable run history.
#[async_trait]
pub trait RunStore: Send + Sync {
    /// Returns `false` if run history is off, so that every record is dropped.
    fn keeps_records(&self) -> bool {
        true
    }

    /// Writes a record, replacing the whole earlier record with the same id.
    async fn put(&self, record: &RunRecord) -> Result<Stored, StoreError>;

    /// Returns the whole record, or `None` when it is unknown, expired or hidden.
    async fn get(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError>;

    /// Returns the record without events and with `bytes`, as lists show it, or `None` like [`Self::get`].
    async fn summary(&self, id: &RunId) -> Result<Option<Value>, StoreError>;

    /// Returns a page of records without events, newest first.
    async fn list(&self, request: &ListRequest) -> Result<ListResponse<StoredRun>, StoreError>;

    /// Returns a page of a run's events, or `None` when the run is unknown.
    async fn events(
        &self,
        id: &RunId,
        after_seq: u64,
        limit: u32,
    ) -> Result<Option<EventsPage>, StoreError>;

    /// Removes a record and its events. Returns `false` if there was none.
    async fn delete(&self, id: &RunId) -> Result<bool, StoreError>;
}

/// What writing a record did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The record survived the retention policy.
    pub stored: bool,
}
