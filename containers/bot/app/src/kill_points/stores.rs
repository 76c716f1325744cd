//! Kill points around the stores: `ledger`, `transcripts` and `runs`.
//!
//! Not here: what a point is (`super::KillPoint`).

use std::sync::Arc;

use ars_bot_ports::{Claim, Ledger, News, Owned, RunStore, Stop, StoreError, Stored, Told, Transcripts};
use ars_runs::RunRecord;
use ars_types::{Generation, RunId, StopMode};
use ars_wire::{
    Moment,
    ledger::{Beat, LiveRun, NewRun, Owner, Reclaimed, StepRecord},
    runs::{EventsPage, ListRequest, ListResponse},
    transcript::{Attachment, Part, Transcript},
};
use async_trait::async_trait;
use serde_json::{Map, Value, value::RawValue};

use super::KillPoint;

type Answer<T> = Result<T, StoreError>;

/// A ledger with points.
pub(super) struct KilledLedger {
    pub(super) inner: Arc<dyn Ledger>,
    pub(super) point: KillPoint,
}

/// Transcripts with points.
pub(super) struct KilledTranscripts {
    pub(super) inner: Arc<dyn Transcripts>,
    pub(super) point: KillPoint,
}

/// Durable history with points.
pub(super) struct KilledRuns {
    pub(super) inner: Arc<dyn RunStore>,
    pub(super) point: KillPoint,
}

#[async_trait]
impl Ledger for KilledLedger {
    async fn claim(&self, run: &NewRun) -> Answer<Claim> {
        self.point.around("ledger.claim", self.inner.claim(run)).await
    }

    async fn live(&self) -> Answer<Vec<LiveRun>> {
        self.point.around("ledger.live", self.inner.live()).await
    }

    async fn step(&self, owner: &Owner, record: &StepRecord) -> Answer<Owned> {
        self.point.around("ledger.step", self.inner.step(owner, record)).await
    }

    async fn heartbeat(&self, owner: &Owner, lease_ms: u32) -> Answer<Owned<Beat>> {
        self.point.around("ledger.heartbeat", self.inner.heartbeat(owner, lease_ms)).await
    }

    async fn append(&self, owner: &Owner, events: &[Box<RawValue>]) -> Answer<Owned> {
        self.point.around("ledger.append", self.inner.append(owner, events)).await
    }

    async fn state(&self, owner: &Owner, state: &Map<String, Value>) -> Answer<Owned> {
        self.point.around("ledger.state", self.inner.state(owner, state)).await
    }

    async fn finishing(&self, owner: &Owner) -> Answer<Owned> {
        self.point.around("ledger.finishing", self.inner.finishing(owner)).await
    }

    async fn finish(&self, owner: &Owner, record: &RunRecord) -> Answer<Owned<Stored>> {
        self.point.around("ledger.finish", self.inner.finish(owner, record)).await
    }

    async fn stop(&self, run: &RunId, mode: StopMode) -> Answer<Stop> {
        self.point.around("ledger.stop", self.inner.stop(run, mode)).await
    }

    async fn inbox(&self, run: &RunId, message: &Map<String, Value>) -> Answer<Option<u64>> {
        self.point.around("ledger.inbox", self.inner.inbox(run, message)).await
    }

    async fn handoff(&self, generation: &Generation, runs: &[RunId]) -> Answer<Vec<RunId>> {
        self.point.around("ledger.handoff", self.inner.handoff(generation, runs)).await
    }

    async fn reclaim(
        &self,
        generation: &Generation,
        lease_ms: u32,
        now: Option<Moment>,
        except: &[RunId],
    ) -> Answer<Vec<Reclaimed>> {
        self.point.around("ledger.reclaim", self.inner.reclaim(generation, lease_ms, now, except)).await
    }

    async fn live_events(&self, run: &RunId) -> Answer<Vec<Value>> {
        self.point.around("ledger.live_events", self.inner.live_events(run)).await
    }

    async fn flush(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[News],
    ) -> Answer<Vec<Owned<Told>>> {
        self.point.around("ledger.flush", self.inner.flush(generation, lease_ms, runs)).await
    }
}

#[async_trait]
impl Transcripts for KilledTranscripts {
    async fn set_owner(&self, owner: &Owner) -> Answer<()> {
        self.point.around("transcripts.set_owner", self.inner.set_owner(owner)).await
    }

    async fn write(&self, owner: &Owner, parts: &[Part], attachments: &[Attachment]) -> Answer<Owned> {
        self.point.around("transcripts.write", self.inner.write(owner, parts, attachments)).await
    }

    async fn read(&self, run: &RunId) -> Answer<Transcript> {
        self.point.around("transcripts.read", self.inner.read(run)).await
    }

    async fn clear(&self, run: &RunId) -> Answer<()> {
        self.point.around("transcripts.clear", self.inner.clear(run)).await
    }
}

#[async_trait]
impl RunStore for KilledRuns {
    async fn put(&self, record: &RunRecord) -> Answer<Stored> {
        self.point.around("runs.put", self.inner.put(record)).await
    }

    async fn get(&self, id: &RunId) -> Answer<Option<RunRecord>> {
        self.point.around("runs.get", self.inner.get(id)).await
    }

    async fn summary(&self, id: &RunId) -> Answer<Option<Value>> {
        self.point.around("runs.summary", self.inner.summary(id)).await
    }

    async fn list(&self, request: &ListRequest) -> Answer<ListResponse> {
        self.point.around("runs.list", self.inner.list(request)).await
    }

    async fn events(&self, id: &RunId, after_seq: u64, limit: u32) -> Answer<Option<EventsPage>> {
        self.point.around("runs.events", self.inner.events(id, after_seq, limit)).await
    }

    async fn delete(&self, id: &RunId) -> Answer<bool> {
        self.point.around("runs.delete", self.inner.delete(id)).await
    }
}
