//! The run store port: the state Worker or the embedded store, indistinguishable to callers.

use ars_runs::RunRecord;
use ars_types::RunId;
use ars_wire::runs::{EventsPage, ListRequest, ListResponse};
use async_trait::async_trait;

/// Durable run history.
#[async_trait]
pub trait RunStore: Send + Sync {
    /// Writes a record, replacing an earlier one of the same id whole.
    async fn put(&self, record: &RunRecord) -> Result<Stored, StoreError>;

    /// The whole record; `None` when unknown, expired or hidden.
    async fn get(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError>;

    /// A page of records without events, newest first.
    async fn list(&self, request: &ListRequest) -> Result<ListResponse, StoreError>;

    /// A page of one run's events; `None` when the run is unknown.
    async fn events(&self, id: &RunId, after_seq: u64, limit: u32) -> Result<Option<EventsPage>, StoreError>;
}

/// What became of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The record survived the retention policy.
    pub stored: bool,
}

/// A store that did not do as asked.
#[derive(Debug, Clone, thiserror::Error)]
#[error("run store: {message}")]
pub struct StoreError {
    /// What a retry would do.
    pub kind: StoreErrorKind,
    /// For logs.
    pub message: String,
}

/// Classes of failure (document 2 section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The store does not have the route: an older deploy. Never retried.
    RouteMissing,
    /// 5xx, 408, 429, network: retried.
    Transient,
    /// Any other refusal: retrying changes nothing.
    Permanent,
}
