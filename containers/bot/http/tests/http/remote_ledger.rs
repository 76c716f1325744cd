//! A ledger with live runs of another process. It lists and stops them; every other request finds no run.
#![expect(clippy::unwrap_used, reason = "a double that cannot go on fails its test")]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use ars_bot_core::{Capabilities, LedgerDeps, live::LiveStores};
use ars_bot_ports::*;
use ars_runs::RunRecord;
use ars_types::{Generation, RunId, StopMode};
use ars_wire::{
    Moment,
    ledger::{Beat, LiveRun, NewRun, Owner, Reclaimed, StepRecord},
    transcript::{Attachment, Part, Transcript},
};
use async_trait::async_trait;
use serde_json::{Map, Value, json, value::RawValue};

/// The capability token of each run.
pub const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[derive(Default)]
pub struct RemoteLedger {
    pub rows: Mutex<Vec<LiveRun>>,
    pub events: Mutex<HashMap<RunId, Vec<Value>>>,
}

impl RemoteLedger {
    /// Adds a live run with its events.
    pub fn add(&self, id: &str, started_at: i64, events: &[Value]) {
        let row = json!({
            "runId": id, "threadKey": format!("http:default:{id}"), "ownerGen": "another",
            "leaseUntil": started_at + 30_000, "startedAt": started_at, "phase": "live", "stop": null,
            "meta": {
                "agent": "coding", "model": "scripted/m", "channelId": "http:default", "userId": "http:ann",
                "threadKey": format!("http:default:{id}"), "channelVisibility": "machine",
                "label": format!("label of {id}"), "receivedAt": started_at,
            },
            "card": null, "system": "", "tools": [], "state": { "viewToken": TOKEN },
        });
        self.rows.lock().unwrap().push(serde_json::from_value(row).unwrap());
        self.events.lock().unwrap().insert(RunId::parse(id).unwrap(), events.to_vec());
    }

    pub fn capabilities(self: &Arc<Self>) -> Capabilities {
        let (ledger, transcripts): (Arc<Self>, Arc<Self>) = (Arc::clone(self), Arc::clone(self));
        let ledger = LedgerDeps {
            stores: LiveStores { ledger, transcripts },
            generation: Generation::parse("this").unwrap(),
            channels: Arc::new(NoChannels),
            has_successor: false,
        };
        Capabilities { ledger: Some(ledger), ..Capabilities::default() }
    }
}

struct NoChannels;

impl Channels for NoChannels {
    fn reopen(&self, _run: &LiveRun) -> Option<Arc<dyn ChannelIo>> {
        None
    }
}

#[async_trait]
impl Ledger for RemoteLedger {
    async fn live(&self) -> Result<Vec<LiveRun>, StoreError> {
        Ok(self.rows.lock().unwrap().clone())
    }

    async fn live_events(&self, run: &RunId) -> Result<Vec<Value>, StoreError> {
        Ok(self.events.lock().unwrap().get(run).cloned().unwrap_or_default())
    }

    async fn stop(&self, run: &RunId, mode: StopMode) -> Result<Stop, StoreError> {
        let mut rows = self.rows.lock().unwrap();
        let Some(row) = rows.iter_mut().find(|row| row.run_id == *run) else { return Ok(Stop::NotLive) };
        row.stop = Some(mode);
        Ok(Stop::Asked { owner_live: true })
    }

    async fn claim(&self, _run: &NewRun) -> Result<Claim, StoreError> {
        Ok(Claim::Granted)
    }

    async fn step(&self, _owner: &Owner, _record: &StepRecord) -> Result<Owned, StoreError> {
        Ok(Owned::UnknownRun)
    }

    async fn heartbeat(&self, _owner: &Owner, _lease_ms: u32) -> Result<Owned<Beat>, StoreError> {
        Ok(Owned::UnknownRun)
    }

    async fn append(&self, _owner: &Owner, _events: &[Box<RawValue>]) -> Result<Owned, StoreError> {
        Ok(Owned::UnknownRun)
    }

    async fn state(&self, _owner: &Owner, _state: &Map<String, Value>) -> Result<Owned, StoreError> {
        Ok(Owned::UnknownRun)
    }

    async fn finishing(&self, _owner: &Owner) -> Result<Owned, StoreError> {
        Ok(Owned::UnknownRun)
    }

    async fn finish(&self, _owner: &Owner, _record: &RunRecord) -> Result<Owned<Stored>, StoreError> {
        Ok(Owned::UnknownRun)
    }

    async fn inbox(&self, _run: &RunId, _message: &Map<String, Value>) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    async fn handoff(&self, _generation: &Generation, _runs: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        Ok(Vec::new())
    }

    async fn reclaim(
        &self,
        _generation: &Generation,
        _lease_ms: u32,
        _now: Option<Moment>,
        _except: &[RunId],
    ) -> Result<Vec<Reclaimed>, StoreError> {
        Ok(Vec::new())
    }

    async fn flush(
        &self,
        _generation: &Generation,
        _lease_ms: Option<u32>,
        _runs: &[FlushBatch],
    ) -> Result<Vec<Owned<FlushAnswer>>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl Transcripts for RemoteLedger {
    async fn set_owner(&self, _owner: &Owner) -> Result<(), StoreError> {
        Ok(())
    }

    async fn write(
        &self,
        _owner: &Owner,
        _parts: &[Part],
        _attachments: &[Attachment],
    ) -> Result<Owned, StoreError> {
        Ok(Owned::UnknownRun)
    }

    async fn read(&self, _run: &RunId) -> Result<Transcript, StoreError> {
        Ok(Transcript::default())
    }

    async fn clear(&self, _run: &RunId) -> Result<(), StoreError> {
        Ok(())
    }
}
