//! Friction ledgers.

use ars_bot_ports::{FrictionRecords, StoreError};
use ars_types::{StoreKey, UnixMillis};
use ars_wire::{
    friction::{FrictionRecord, RecentRequest, RecentResponse, RecordRequest, RecordResponse},
    state::{FrictionVerb, Route},
};
use async_trait::async_trait;

use super::{Client, Transport};

#[async_trait]
impl<T: Transport> FrictionRecords for Client<T> {
    async fn record(&self, ledger: &StoreKey, record: &FrictionRecord) -> Result<u64, StoreError> {
        let request = RecordRequest {
            ledger_key: ledger.clone(),
            record: record.clone(),
        };
        let answer = self
            .command(Route::Friction(FrictionVerb::Record), &request)
            .await?;
        let RecordResponse { retained, .. } = answer;
        Ok(retained)
    }

    async fn recent(
        &self,
        ledger: &StoreKey,
        limit: Option<u32>,
        since: Option<UnixMillis>,
    ) -> Result<Vec<FrictionRecord>, StoreError> {
        let request = RecentRequest {
            ledger_key: ledger.clone(),
            limit,
            since_ms: since,
        };
        let RecentResponse { records } = self
            .ask(Route::Friction(FrictionVerb::Recent), &request)
            .await?;
        Ok(records)
    }
}
