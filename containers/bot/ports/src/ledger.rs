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

/// The live-run ledger.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Makes a run live on the thread. Repeating a granted claim changes nothing.
    async fn claim(&self, run: &NewRun) -> Result<Claim, StoreError>;

    /// Returns the first request with an idempotency key, or `None` for an unknown or expired key.
    async fn first_use(&self, key: &IdempotencyKey) -> Result<Option<FirstUse>, StoreError>;

    /// Returns every live run, earliest start first.
    async fn live(&self) -> Result<Vec<LiveRun>, StoreError>;

    /// Returns a thread's live run, without reading other threads' runs.
    async fn live_of_thread(&self, thread_key: &str) -> Result<Option<LiveRun>, StoreError>;

    /// Writes the run's loop state. A record with the same step replaces the earlier record.
    async fn step(&self, owner: &Owner, record: &StepRecord) -> Result<Owned, StoreError>;

    /// Extends the lease by the store's clock and returns a requested stop.
    async fn heartbeat(&self, owner: &Owner, lease_ms: u32) -> Result<Owned<Beat>, StoreError>;

    /// Appends events, replacing those with the same seq, atomically.
    async fn append(&self, owner: &Owner, events: &[Box<RawValue>]) -> Result<Owned, StoreError>;

    /// Replaces the dispatcher's state.
    async fn state(&self, owner: &Owner, state: &Map<String, Value>) -> Result<Owned, StoreError>;

    /// Acquires the reply permit, which is granted once.
    async fn finishing(&self, owner: &Owner) -> Result<Owned, StoreError>;

    /// Writes the run's record and ends the live run, then clears the transcript on a best-effort
    /// basis.
    async fn finish(&self, owner: &Owner, record: &RunRecord) -> Result<Owned<Stored>, StoreError>;

    /// Requests that a live run stop. The owner receives it with the next heartbeat, and the note
    /// names the actor.
    async fn stop(
        &self,
        run: &RunId,
        mode: StopMode,
        actor: Option<&Actor>,
    ) -> Result<Stop, StoreError>;

    /// Queues a follow-up for a live run. Returns the number, or `None` when the run is not live.
    async fn inbox(
        &self,
        run: &RunId,
        message: &Map<String, Value>,
    ) -> Result<Option<u64>, StoreError>;

    /// Offers this generation's runs to the next. Returns those that could be offered.
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

    /// Returns the events appended to a run after a seq, none for an unknown run. An earlier
    /// version's store ignores the seq and returns them all.
    async fn live_events(&self, run: &RunId, after_seq: u64) -> Result<Vec<Value>, StoreError>;

    /// Appends events to many runs of a generation and, with a lease, extends it for each run.
    /// Returns a reply per run, in the order given (docs/decisions/0007). A fenced run does not
    /// affect the others.
    async fn flush(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[FlushBatch],
    ) -> Result<Vec<Owned<FlushResponse>>, StoreError>;
}

/// A single run's part in a flush.
#[derive(Debug, Clone)]
pub struct FlushBatch {
    /// Id of the run.
    pub run: RunId,
    /// Events, each replacing the event with the same seq.
    pub events: Vec<Box<RawValue>>,
    /// The last received follow-up's number. Later ones are returned.
    pub inbox_after: u64,
}

/// The flush reply for a single run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlushResponse {
    /// The stop, once requested.
    pub stop: Option<StopMode>,
    /// Who requested the stop, if the request named them.
    pub stop_actor: Option<Actor>,
    /// Follow-ups after the last received.
    pub inbox: Vec<Followup>,
}

/// How a claim ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// The run is live and owned by this generation.
    Granted,
    /// The thread has a live run, or the run is live elsewhere.
    ThreadLive(Holder),
    /// An earlier request had the run's idempotency key. Nothing was written.
    Repeated(FirstUse),
}

/// How an owner's write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owned<T = ()> {
    /// The write was done.
    Done(T),
    /// Another generation owns the run, or the phase forbids the write. Nothing was written.
    Fenced,
    /// There is no such live run. Nothing was written.
    UnknownRun,
}

impl<T> Owned<T> {
    /// Maps the value in `Done`.
    pub fn map<U>(self, view: impl FnOnce(T) -> U) -> Owned<U> {
        match self {
            Self::Done(done) => Owned::Done(view(done)),
            Self::Fenced => Owned::Fenced,
            Self::UnknownRun => Owned::UnknownRun,
        }
    }
}

/// How a stop request ended.
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
