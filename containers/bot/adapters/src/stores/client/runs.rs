//! Run history.

use ars_bot_ports::{RunStore, StoreError, Stored};
use ars_runs::{RunRecord, StoredRun, diagnosis};
use ars_types::RunId;
use ars_wire::{
    runs::{
        DeleteResponse, EventsPage, EventsRequest, EventsResponse, GetRequest, GetResponse,
        ListRequest, ListResponse, PutResponse, SummaryResponse,
    },
    state::{Route, RunVerb},
};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::super::{failure::refused, transport::StoreResponse};
use super::{Client, Transport, malformed, parse};

#[async_trait]
impl<T: Transport> RunStore for Client<T> {
    async fn put(&self, record: &RunRecord) -> Result<Stored, StoreError> {
        let request = self.keyed(self.put_request(record));
        let PutResponse { stored, .. } = self.command(Route::Runs(RunVerb::Put), &request).await?;
        Ok(Stored { stored })
    }

    async fn get(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let answer: GetResponse<Value> = self
            .ask(Route::Runs(RunVerb::Get), &self.keyed(GetRequest { id }))
            .await?;
        let Some(record) = answer.record else {
            return Ok(None);
        };
        let record = RunRecord::from_stored(record).map_err(malformed)?;
        if &record.id == id {
            Ok(Some(record))
        } else {
            Err(malformed("another run"))
        }
    }

    async fn summary(&self, id: &RunId) -> Result<Option<Value>, StoreError> {
        let answer: SummaryResponse = self
            .ask(
                Route::Runs(RunVerb::Summary),
                &self.keyed(GetRequest { id }),
            )
            .await?;
        let Some(mut summary) = answer.summary else {
            return Ok(None);
        };
        read_item(&mut summary)?;
        if summary["id"] == id.as_str() {
            Ok(Some(summary))
        } else {
            Err(malformed("another run"))
        }
    }

    async fn list(&self, request: &ListRequest) -> Result<ListResponse<StoredRun>, StoreError> {
        let StoreResponse { status, text } = self
            .request(Route::Runs(RunVerb::List), &self.keyed(request))
            .await?;
        if status != 200 {
            return Err(refused(status, &text));
        }
        // Nearly every page has this form. Building generic values first costs several times as much.
        let Ok(mut page) = serde_json::from_str::<ListResponse<StoredRun>>(&text) else {
            return read_page(&text);
        };
        for stored in page
            .items
            .iter_mut()
            .filter_map(|run| run.diagnosis.as_mut())
        {
            diagnosis::check(stored, "diagnosis").map_err(malformed)?;
            diagnosis::normalise(stored);
        }
        Ok(page)
    }

    async fn events(
        &self,
        id: &RunId,
        after_seq: u64,
        limit: u32,
    ) -> Result<Option<EventsPage>, StoreError> {
        let request = EventsRequest {
            id,
            after_seq,
            limit: Some(limit),
        };
        let answer = self
            .ask(Route::Runs(RunVerb::Events), &self.keyed(request))
            .await?;
        let EventsResponse {
            events,
            next_after_seq,
        } = answer;
        let Some(events) = events else {
            return Ok(None);
        };
        check_events(&events)?;
        Ok(Some(EventsPage {
            events,
            next_after_seq,
        }))
    }

    async fn delete(&self, id: &RunId) -> Result<bool, StoreError> {
        let request = self.keyed(GetRequest { id });
        let DeleteResponse { deleted, .. } =
            self.command(Route::Runs(RunVerb::Delete), &request).await?;
        Ok(deleted)
    }
}

/// Reads a page with half a surrogate pair, or with a record that another version wrote. A record
/// that does not have a listed run's form is omitted.
fn read_page(text: &str) -> Result<ListResponse<StoredRun>, StoreError> {
    let ListResponse {
        mut items,
        next_before,
    }: ListResponse = serde_json::from_value(parse(text)?).map_err(malformed)?;
    items.iter_mut().try_for_each(read_item)?;
    let items = items
        .into_iter()
        .filter_map(|item| serde_json::from_value(item).ok())
        .collect();
    Ok(ListResponse { items, next_before })
}

/// Validates an item as a record and normalises the diagnosis.
fn read_item(item: &mut Value) -> Result<(), StoreError> {
    let mut record = item.clone();
    let Value::Object(fields) = &mut record else {
        return Err(malformed("an item that is no object"));
    };
    fields.insert("events".into(), json!([]));
    RunRecord::from_stored(record).map_err(malformed)?;
    if let Some(stored) = item.get_mut("diagnosis") {
        diagnosis::normalise(stored);
    }
    Ok(())
}

/// Checks that every event has a type and a seq.
pub(super) fn check_events(events: &[Value]) -> Result<(), StoreError> {
    let is_whole = |event: &Value| event["type"].is_string() && event["seq"].is_number();
    if events.iter().all(is_whole) {
        Ok(())
    } else {
        Err(malformed("an event without a type or seq"))
    }
}
