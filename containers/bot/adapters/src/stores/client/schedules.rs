//! Records when schedules fire.

use ars_bot_ports::{Schedules, StoreError};
use ars_wire::{
    schedules::{Firing, LatestRequest, LatestResponse, RecordRequest, RecordResponse},
    state::{Route, ScheduleVerb},
};
use async_trait::async_trait;

use super::{Client, Transport};

#[async_trait]
impl<T: Transport> Schedules for Client<T> {
    async fn record(&self, firing: &Firing) -> Result<u64, StoreError> {
        let request = RecordRequest {
            firing: firing.clone(),
        };
        let answer = self
            .command(Route::Schedules(ScheduleVerb::Record), &request)
            .await?;
        let RecordResponse { retained, .. } = answer;
        Ok(retained)
    }

    async fn latest(&self) -> Result<Vec<Firing>, StoreError> {
        let answer = self
            .ask(Route::Schedules(ScheduleVerb::Latest), &LatestRequest {})
            .await?;
        let LatestResponse { firings } = answer;
        Ok(firings)
    }
}
