//! The run store for an installation without run history (`runHistory.store = "none"`).

use ars_bot_ports::{RunStore, StoreError, Stored};
use ars_runs::{RunRecord, StoredRun};
use ars_types::RunId;
use ars_wire::runs::{EventsPage, ListRequest, ListResponse};
use async_trait::async_trait;
use serde_json::Value;

/// Drops every record and knows no run.
#[derive(Debug, Clone, Copy)]
pub struct NoHistory;

#[async_trait]
impl RunStore for NoHistory {
    fn keeps_records(&self) -> bool {
        false
    }

    async fn put(&self, _record: &RunRecord) -> Result<Stored, StoreError> {
        Ok(Stored { stored: false })
    }

    async fn get(&self, _id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        Ok(None)
    }

    async fn summary(&self, _id: &RunId) -> Result<Option<Value>, StoreError> {
        Ok(None)
    }

    async fn list(&self, _request: &ListRequest) -> Result<ListResponse<StoredRun>, StoreError> {
        Ok(ListResponse {
            items: Vec::new(),
            next_before: None,
        })
    }

    async fn events(
        &self,
        _id: &RunId,
        _after: u64,
        _limit: u32,
    ) -> Result<Option<EventsPage>, StoreError> {
        Ok(None)
    }

    async fn delete(&self, _id: &RunId) -> Result<bool, StoreError> {
        Ok(false)
    }
}
