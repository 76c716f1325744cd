//! The ledger port: live runs that outlast the process.
//!
//! A conflict is a result and never an error, because a retry would return the same. Not here: the conversation
//! ([`super::Transcripts`]) and retries (`ars-bot-adapters`).

use ars_events::Actor;
use ars_runs::RunRecord;
use ars_types::{Generation, RunId, StopMode};
use ars_wire::{
    Moment,
    idempotency::{FirstUse, IdempotencyKey},
    ledger::{Beat, Followup, Holder, LiveRun, NewRun, Owner, Reclaimed, StepRecord},
};
use async_trait::async_trait;
use serde_json::{Map, Value, value::RawValue};

use super::{StoreError, Stored};

/// The ledger of live runs.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Makes a run live on its thread. Repeating a granted claim changes nothing.
    async fn claim(&self, run: &NewRun) -> Result<Claim, StoreError>;

    /// Returns the first request with an idempotency key, or `None` for an unknown or expired key.
    async fn first_use(&self, key: &IdempotencyKey) -> Result<Option<FirstUse>, StoreError>;

    /// Returns every live run, earliest start first.
    async fn live(&self) -> Result<Vec<LiveRun>, StoreError>;

    /// Returns the live run of a thread, without reading other threads' runs.
    async fn live_of_thread(&self, thread_key: &str) -> Result<Option<LiveRun>, StoreError>;

    /// Writes the state of the run's loop. A record with the same step replaces the earlier one.
    async fn step(&self, owner: &Owner, record: &StepRecord) -> Result<Owned, StoreError>;

    /// Extends the lease by the store's clock and returns a requested stop.
    async fn heartbeat(&self, owner: &Owner, lease_ms: u32) -> Result<Owned<Beat>, StoreError>;

    /// Appends events, replacing those with the same seq, atomically.
    async fn append(&self, owner: &Owner, events: &[Box<RawValue>]) -> Result<Owned, StoreError>;

    /// Replaces the dispatcher's state.
    async fn state(&self, owner: &Owner, state: &Map<String, Value>) -> Result<Owned, StoreError>;

    /// Acquires the reply permit, which is granted once.
    async fn finishing(&self, owner: &Owner) -> Result<Owned, StoreError>;

    /// Writes the run's record and ends the live run, then clears its transcript on a best-effort basis.
    async fn finish(&self, owner: &Owner, record: &RunRecord) -> Result<Owned<Stored>, StoreError>;

    /// Requests a stop of a live run.
    /// Its owner receives it with the next heartbeat, and its note names the actor.
    async fn stop(
        &self,
        run: &RunId,
        mode: StopMode,
        actor: Option<&Actor>,
    ) -> Result<Stop, StoreError>;

    /// Queues a follow-up for a live run. Returns its number, or `None` when the run is not live.
    async fn inbox(
        &self,
        run: &RunId,
        message: &Map<String, Value>,
    ) -> Result<Option<u64>, StoreError>;

    /// Offers runs of this generation to the next one. Returns those that could be offered.
    async fn handoff(
        &self,
        generation: &Generation,
        runs: &[RunId],
    ) -> Result<Vec<RunId>, StoreError>;

    /// Reclaims the runs that other generations offered or that have an expired lease, `except` these.
    /// Their transcripts keep their owner until [`super::Transcripts::set_owner`].
    async fn reclaim(
        &self,
        generation: &Generation,
        lease_ms: u32,
        now: Option<Moment>,
        except: &[RunId],
    ) -> Result<Vec<Reclaimed>, StoreError>;

    /// Returns the events appended to a run after a seq, none for an unknown run.
    /// A store of an earlier version ignores the seq and returns all of them.
    async fn live_events(&self, run: &RunId, after_seq: u64) -> Result<Vec<Value>, StoreError>;

    /// Appends events to many runs of one generation and, with a lease, extends it for each of them.
    /// Returns one reply per run, in the order given (docs/decisions/0007). A fenced run does not affect the others.
    async fn flush(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[FlushBatch],
    ) -> Result<Vec<Owned<FlushAnswer>>, StoreError>;
}

/// The part of a flush that concerns one run.
#[derive(Debug, Clone)]
pub struct FlushBatch {
    /// The run.
    pub run: RunId,
    /// Events, each replacing the one with the same seq.
    pub events: Vec<Box<RawValue>>,
    /// The number of the last follow-up received. Later ones are returned.
    pub inbox_after: u64,
}

/// The reply to a flush for one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlushAnswer {
    /// The requested stop.
    pub stop: Option<StopMode>,
    /// The requester of the stop, if the request named one.
    pub stop_actor: Option<Actor>,
    /// Follow-ups after the last one received.
    pub inbox: Vec<Followup>,
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// The run is live and owned by this generation.
    Granted,
    /// The thread has a live run, or the run is live elsewhere.
    ThreadLive(Holder),
    /// An earlier request had the run's idempotency key. Nothing was written.
    Repeated(FirstUse),
}

/// The result of an owner's write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owned<T = ()> {
    /// Done.
    Done(T),
    /// Another generation owns the run, or its phase forbids the write. Nothing was written.
    Fenced,
    /// There is no such live run. Nothing was written.
    UnknownRun,
}

impl<T> Owned<T> {
    /// Maps the value of `Done`.
    pub fn map<U>(self, view: impl FnOnce(T) -> U) -> Owned<U> {
        match self {
            Self::Done(done) => Owned::Done(view(done)),
            Self::Fenced => Owned::Fenced,
            Self::UnknownRun => Owned::UnknownRun,
        }
    }
}

/// The result of a stop request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The stop was recorded.
    Recorded {
        /// The owner's lease has not expired, so the owner receives the stop.
        owner_live: bool,
    },
    /// There is no such live run.
    NotLive,
}
