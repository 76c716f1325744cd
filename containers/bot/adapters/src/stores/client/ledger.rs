//! The ledger for live runs.
//!
//! A finish also clears the run's transcript: for callers they are a single store, on the edge two
//! objects. Not here: becoming the owner of a reclaimed run's transcript (`ars_bot_core::resume`).

use ars_bot_ports::{Claim, FlushBatch, FlushResponse, Ledger, Owned, Stop, StoreError, Stored};
use ars_events::Actor;
use ars_runs::RunRecord;
use ars_types::{Generation, RunId, StopMode};
use ars_wire::{
    Moment,
    idempotency::{FirstUse, FirstUseRequest, FirstUseResponse, IdempotencyKey},
    ledger::{
        self, AfterSeq, Beat, ClaimRequest, Conflict, Events, FinishResponse, HandoffRequest,
        HandoffResponse, InboxResponse, Lease, LiveRun, Message, NewRun, Nothing, OfRun, OfThread,
        Owner, OwnerWrite, ReclaimRequest, Reclaimed, RunsResponse, State, Step, StepRecord,
        StopResponse,
    },
    state::{Route, RunVerb},
};
use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};

use super::{
    Client, Transport, malformed, requests::OrderError, runs::check_events, stop_actor, unexpected,
};

#[async_trait]
impl<T: Transport> Ledger for Client<T> {
    async fn claim(&self, run: &NewRun) -> Result<Claim, StoreError> {
        let request = self.keyed(ClaimRequest { run });
        match self
            .order::<Nothing>(Route::Runs(RunVerb::Claim), &request)
            .await
        {
            Ok(Nothing {}) => Ok(Claim::Granted),
            Err(OrderError::Conflict(Conflict::ThreadLive { live })) => Ok(Claim::ThreadLive(live)),
            Err(OrderError::Conflict(Conflict::RepeatedKey { first })) => {
                Ok(Claim::Repeated(first))
            }
            Err(OrderError::Conflict(conflict)) => Err(unexpected(&conflict)),
            Err(OrderError::Failed(error)) => Err(error),
        }
    }

    async fn first_use(&self, key: &IdempotencyKey) -> Result<Option<FirstUse>, StoreError> {
        let request = self.keyed(FirstUseRequest {
            subject: &key.subject,
            key: &key.key,
        });
        let FirstUseResponse { first } = self.ask(Route::Runs(RunVerb::FirstUse), &request).await?;
        Ok(first)
    }

    async fn live(&self) -> Result<Vec<LiveRun>, StoreError> {
        let answer = self
            .ask(Route::Runs(RunVerb::Live), &self.keyed(Nothing {}))
            .await?;
        let RunsResponse { runs } = answer;
        Ok(runs)
    }

    async fn live_of_thread(&self, thread_key: &str) -> Result<Option<LiveRun>, StoreError> {
        let request = self.keyed(OfThread { thread_key });
        let RunsResponse::<LiveRun> { runs } =
            self.ask(Route::Runs(RunVerb::Live), &request).await?;
        // An earlier state Worker version ignores the thread.
        Ok(runs.into_iter().find(|run| run.thread_key == thread_key))
    }

    async fn step(&self, owner: &Owner, record: &StepRecord) -> Result<Owned, StoreError> {
        self.owner_write(RunVerb::Step, owner, Step { record })
            .await
            .map(done)
    }

    async fn heartbeat(&self, owner: &Owner, lease_ms: u32) -> Result<Owned<Beat>, StoreError> {
        self.owner_write(RunVerb::Heartbeat, owner, Lease { lease_ms })
            .await
    }

    async fn append(&self, owner: &Owner, events: &[Box<RawValue>]) -> Result<Owned, StoreError> {
        self.owner_write(RunVerb::Append, owner, Events { events })
            .await
            .map(done)
    }

    async fn state(&self, owner: &Owner, state: &Map<String, Value>) -> Result<Owned, StoreError> {
        self.owner_write(RunVerb::State, owner, State { state })
            .await
            .map(done)
    }

    async fn finishing(&self, owner: &Owner) -> Result<Owned, StoreError> {
        self.owner_write(RunVerb::Finishing, owner, Nothing {})
            .await
            .map(done)
    }

    async fn finish(&self, owner: &Owner, record: &RunRecord) -> Result<Owned<Stored>, StoreError> {
        let finished = self
            .owner_write(RunVerb::Finish, owner, self.put_request(record))
            .await?;
        let finished = finished.map(|FinishResponse { stored }| Stored { stored });
        if matches!(finished, Owned::Done(_))
            && let Err(error) = self.clear_ended(&owner.run_id).await
        {
            // The record is complete; the transcript only occupies space.
            tracing::warn!(run = %owner.run_id, error = %error, "transcript not cleared");
        }
        Ok(finished)
    }

    async fn stop(
        &self,
        run: &RunId,
        mode: StopMode,
        actor: Option<&Actor>,
    ) -> Result<Stop, StoreError> {
        let actor = actor.map(stop_actor::to_wire);
        let request = self.keyed(OfRun {
            run_id: run,
            what: ledger::Stop { mode, actor },
        });
        match self.ask(Route::Runs(RunVerb::Stop), &request).await? {
            StopResponse {
                ok: true,
                owner_live: Some(owner_live),
            } => Ok(Stop::Recorded { owner_live }),
            StopResponse { ok: false, .. } => Ok(Stop::NotLive),
            StopResponse {
                ok: true,
                owner_live: None,
            } => Err(malformed("ok without ownerLive")),
        }
    }

    async fn inbox(
        &self,
        run: &RunId,
        message: &Map<String, Value>,
    ) -> Result<Option<u64>, StoreError> {
        let request = self.keyed(OfRun {
            run_id: run,
            what: Message { message },
        });
        match self.ask(Route::Runs(RunVerb::Inbox), &request).await? {
            InboxResponse {
                ok: true,
                seq: Some(seq),
            } => Ok(Some(seq)),
            InboxResponse { ok: false, .. } => Ok(None),
            InboxResponse {
                ok: true,
                seq: None,
            } => Err(malformed("ok without seq")),
        }
    }

    async fn handoff(
        &self,
        generation: &Generation,
        runs: &[RunId],
    ) -> Result<Vec<RunId>, StoreError> {
        let request = self.keyed(HandoffRequest {
            generation,
            run_ids: runs,
        });
        let HandoffResponse { marked } = self.ask(Route::Runs(RunVerb::Handoff), &request).await?;
        Ok(marked)
    }

    async fn reclaim(
        &self,
        generation: &Generation,
        lease_ms: u32,
        now: Option<Moment>,
        except: &[RunId],
    ) -> Result<Vec<Reclaimed>, StoreError> {
        let request = self.keyed(ReclaimRequest {
            generation,
            lease_ms,
            now,
            except,
        });
        let answer = self.ask(Route::Runs(RunVerb::Reclaim), &request).await?;
        let RunsResponse { runs } = answer;
        Ok(runs)
    }

    async fn live_events(&self, run: &RunId, after_seq: u64) -> Result<Vec<Value>, StoreError> {
        let request = self.keyed(OfRun {
            run_id: run,
            what: AfterSeq { after_seq },
        });
        let answer: Events<Vec<Value>> =
            self.ask(Route::Runs(RunVerb::LiveEvents), &request).await?;
        let Events { events } = answer;
        check_events(&events)?;
        Ok(events)
    }

    async fn flush(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[FlushBatch],
    ) -> Result<Vec<Owned<FlushResponse>>, StoreError> {
        self.flush_runs(generation, lease_ms, runs).await
    }
}

impl<T: Transport> Client<T> {
    async fn owner_write<A: DeserializeOwned>(
        &self,
        verb: RunVerb,
        owner: &Owner,
        what: impl Serialize,
    ) -> Result<Owned<A>, StoreError> {
        let request = self.keyed(OwnerWrite { owner, what });
        owned(self.order(Route::Runs(verb), &request).await)
    }
}

/// Converts the outcome of an owner's write.
pub(super) fn owned<A>(outcome: Result<A, OrderError>) -> Result<Owned<A>, StoreError> {
    match outcome {
        Ok(done) => Ok(Owned::Done(done)),
        Err(OrderError::Conflict(conflict)) => not_owned(&conflict),
        Err(OrderError::Failed(error)) => Err(error),
    }
}

/// Converts a conflict on an owner's write.
pub(super) fn not_owned<A>(conflict: &Conflict) -> Result<Owned<A>, StoreError> {
    match conflict {
        Conflict::Fenced => Ok(Owned::Fenced),
        Conflict::UnknownRun => Ok(Owned::UnknownRun),
        Conflict::ThreadLive { .. } | Conflict::RepeatedKey { .. } => Err(unexpected(conflict)),
    }
}

/// Drops a write's empty response.
pub(super) fn done(outcome: Owned<Nothing>) -> Owned {
    outcome.map(|Nothing {}| ())
}
