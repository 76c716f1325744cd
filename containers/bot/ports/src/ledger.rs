//! The ledger port: live runs that outlast the process (document 2 sections 2.4 and 3.3, state-worker supplement
//! sections 9 and 11).
//!
//! A conflict is a result here, never an error: it says how things are, and asking again would say the same. Not
//! here: the conversation ([`super::Transcripts`]) and retries (`ars_bot_core::retry`).

use ars_runs::RunRecord;
use ars_types::{Generation, RunId, StopMode};
use ars_wire::{
    Moment,
    ledger::{Beat, Followup, Holder, LiveRun, NewRun, Owner, Reclaimed, StepRecord},
};
use async_trait::async_trait;
use serde_json::{Map, Value, value::RawValue};

use super::{StoreError, Stored};

/// The ledger of live runs.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Makes a run live on its thread. Repeating a claim that was granted changes nothing.
    async fn claim(&self, run: &NewRun) -> Result<Claim, StoreError>;

    /// Every live run, earliest start first.
    async fn live(&self) -> Result<Vec<LiveRun>, StoreError>;

    /// Keeps where the run's loop stands; the same step again replaces it.
    async fn step(&self, owner: &Owner, record: &StepRecord) -> Result<Owned, StoreError>;

    /// Extends the lease from the store's clock, and tells how the run is asked to stop.
    async fn heartbeat(&self, owner: &Owner, lease_ms: u32) -> Result<Owned<Beat>, StoreError>;

    /// Appends events, each in place of what has its seq. Taken whole or not at all.
    async fn append(&self, owner: &Owner, events: &[Box<RawValue>]) -> Result<Owned, StoreError>;

    /// Replaces the dispatcher's state.
    async fn state(&self, owner: &Owner, state: &Map<String, Value>) -> Result<Owned, StoreError>;

    /// Takes the right to reply, which is granted once.
    async fn finishing(&self, owner: &Owner) -> Result<Owned, StoreError>;

    /// Writes the run's record and ends the live run, then clears its transcript as far as possible.
    async fn finish(&self, owner: &Owner, record: &RunRecord) -> Result<Owned<Stored>, StoreError>;

    /// Asks a live run to stop; its owner learns of it by the next heartbeat.
    async fn stop(&self, run: &RunId, mode: StopMode) -> Result<Stop, StoreError>;

    /// Leaves a follow-up for a live run: its number, or `None` when the run is not live.
    async fn inbox(&self, run: &RunId, message: &Map<String, Value>) -> Result<Option<u64>, StoreError>;

    /// Offers runs of this generation to the next one. Runs that cannot be offered are not among the answer.
    async fn handoff(&self, generation: &Generation, runs: &[RunId]) -> Result<Vec<RunId>, StoreError>;

    /// Takes over what other generations offered or let lapse, `except` these runs. Their transcripts are still the other
    /// generations' ([`super::Transcripts::set_owner`]).
    async fn reclaim(
        &self,
        generation: &Generation,
        lease_ms: u32,
        now: Option<Moment>,
        except: &[RunId],
    ) -> Result<Vec<Reclaimed>, StoreError>;

    /// The events appended to a run; none of an unknown one.
    async fn live_events(&self, run: &RunId) -> Result<Vec<Value>, StoreError>;

    /// Appends events to many runs of one generation and, with a lease, extends it for each of them; what each run is
    /// told, in the order given (docs/decisions/0007). A run that was lost holds up none of the others.
    async fn flush(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[News],
    ) -> Result<Vec<Owned<Told>>, StoreError>;
}

/// What a flush carries of one run.
#[derive(Debug, Clone)]
pub struct News {
    /// The run.
    pub run: RunId,
    /// Events, each in place of what has its seq.
    pub events: Vec<Box<RawValue>>,
    /// The last follow-up known; later ones are asked for.
    pub inbox_after: u64,
}

/// What a flush brings back of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// How it is asked to stop.
    pub stop: Option<StopMode>,
    /// Follow-ups after the last one known.
    pub inbox: Vec<Followup>,
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// The run is live, and this generation's.
    Granted,
    /// The thread has a live run, or the run is live elsewhere.
    ThreadLive(Holder),
}

/// What became of an owner's write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owned<T = ()> {
    /// Done.
    Done(T),
    /// Another generation owns the run, or its phase is against it. Nothing was written.
    Fenced,
    /// There is no such live run. Nothing was written.
    UnknownRun,
}

impl<T> Owned<T> {
    /// The same, with what was done seen through `view`.
    pub fn map<U>(self, view: impl FnOnce(T) -> U) -> Owned<U> {
        match self {
            Self::Done(done) => Owned::Done(view(done)),
            Self::Fenced => Owned::Fenced,
            Self::UnknownRun => Owned::UnknownRun,
        }
    }
}

/// What became of asking for a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The run is asked.
    Asked {
        /// Its owner's lease has not lapsed, so somebody will hear of it.
        owner_live: bool,
    },
    /// There is no such live run.
    NotLive,
}
