//! A ledger that retries claims, steps and states.
//!
//! These operations are idempotent: a repeated claim is granted, and a step or state replaces itself. The others run
//! once: the next flush or heartbeat delivers again, a lost batch of events is in the record, and a finish is retried
//! with the record.

use std::sync::Arc;

use ars_bot_ports::{Claim, Ledger, News, Owned, Stop, StoreError, Stored, Told};
use ars_runs::RunRecord;
use ars_types::{Generation, RunId, StopMode};
use ars_wire::{
    Moment,
    ledger::{Beat, LiveRun, NewRun, Owner, Reclaimed, StepRecord},
};
use async_trait::async_trait;
use serde_json::{Map, Value, value::RawValue};

use super::Policy;

/// A ledger with retries.
pub struct Retrying(Arc<dyn Ledger>);

impl Retrying {
    /// Adds retries to a ledger.
    pub fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self(ledger)
    }
}

#[async_trait]
impl Ledger for Retrying {
    async fn claim(&self, run: &NewRun) -> Result<Claim, StoreError> {
        Policy::CLAIM.run(&run.run_id, || self.0.claim(run)).await
    }

    async fn live(&self) -> Result<Vec<LiveRun>, StoreError> {
        self.0.live().await
    }

    async fn step(&self, owner: &Owner, record: &StepRecord) -> Result<Owned, StoreError> {
        Policy::STEP.run(&owner.run_id, || self.0.step(owner, record)).await
    }

    async fn heartbeat(&self, owner: &Owner, lease_ms: u32) -> Result<Owned<Beat>, StoreError> {
        self.0.heartbeat(owner, lease_ms).await
    }

    async fn append(&self, owner: &Owner, events: &[Box<RawValue>]) -> Result<Owned, StoreError> {
        self.0.append(owner, events).await
    }

    async fn state(&self, owner: &Owner, state: &Map<String, Value>) -> Result<Owned, StoreError> {
        Policy::STATE.run(&owner.run_id, || self.0.state(owner, state)).await
    }

    async fn finishing(&self, owner: &Owner) -> Result<Owned, StoreError> {
        self.0.finishing(owner).await
    }

    async fn finish(&self, owner: &Owner, record: &RunRecord) -> Result<Owned<Stored>, StoreError> {
        self.0.finish(owner, record).await
    }

    async fn stop(&self, run: &RunId, mode: StopMode) -> Result<Stop, StoreError> {
        self.0.stop(run, mode).await
    }

    async fn inbox(&self, run: &RunId, message: &Map<String, Value>) -> Result<Option<u64>, StoreError> {
        self.0.inbox(run, message).await
    }

    async fn handoff(&self, generation: &Generation, runs: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        self.0.handoff(generation, runs).await
    }

    async fn reclaim(
        &self,
        generation: &Generation,
        lease_ms: u32,
        now: Option<Moment>,
        except: &[RunId],
    ) -> Result<Vec<Reclaimed>, StoreError> {
        self.0.reclaim(generation, lease_ms, now, except).await
    }

    async fn live_events(&self, run: &RunId) -> Result<Vec<Value>, StoreError> {
        self.0.live_events(run).await
    }

    async fn flush(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[News],
    ) -> Result<Vec<Owned<Told>>, StoreError> {
        self.0.flush(generation, lease_ms, runs).await
    }
}
