//! A single request with many runs' changes (docs/decisions/0007). An older state Worker gets an
//! append and a heartbeat for each run instead.
//!
//! Whether the Worker has the route is detected once per process. Not here: when to flush, and how
//! much.

use std::sync::atomic::Ordering;

use ars_bot_ports::{FlushAnswer, FlushBatch, Ledger as _, Owned, StoreError, StoreErrorKind};
use ars_types::Generation;
use ars_wire::{
    ledger::{
        Beat, FlushOutcome, FlushRequest, Followup, Owner, RunFlushed, RunNews, RunsResponse,
    },
    state::{Route, RunVerb},
};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{Client, Transport, ledger::owned, malformed, stop_actor};

/// Runs that are flushed concurrently when each needs requests on its own route.
const RUNS_AT_ONCE: usize = 8;

impl<T: Transport> Client<T> {
    /// Flushes runs and returns the ledger's answer for each, in the given order.
    pub(super) async fn flush_runs(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[FlushBatch],
    ) -> Result<Vec<Owned<FlushAnswer>>, StoreError> {
        if !self.lacks_flush.load(Ordering::Relaxed) {
            match self.flush_together(generation, lease_ms, runs).await {
                Err(error) if error.kind == StoreErrorKind::RouteMissing => {
                    self.lacks_flush.store(true, Ordering::Relaxed);
                }
                answer => return answer,
            }
        }
        let flushed: Vec<_> = runs
            .iter()
            .map(|news| self.flush_one(generation, lease_ms, news))
            .collect();
        stream::iter(flushed)
            .buffered(RUNS_AT_ONCE)
            .try_collect()
            .await
    }

    async fn flush_together(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[FlushBatch],
    ) -> Result<Vec<Owned<FlushAnswer>>, StoreError> {
        let news = runs.iter().map(
            |FlushBatch {
                 run,
                 events,
                 inbox_after,
             }| RunNews {
                run_id: run,
                events,
                inbox_after: *inbox_after,
            },
        );
        let request = FlushRequest {
            generation,
            lease_ms,
            runs: news.collect::<Vec<_>>(),
        };
        let answer = self
            .ask(Route::Runs(RunVerb::Flush), &self.keyed(request))
            .await?;
        let RunsResponse { runs: answered } = answer;
        if answered.len() != runs.len() {
            return Err(malformed("another number of runs"));
        }
        runs.iter()
            .zip(answered)
            .map(|(news, flushed)| flush_answer(news, flushed))
            .collect()
    }

    /// Flushes a run through routes that every state Worker has. They do not deliver follow-ups.
    async fn flush_one(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        FlushBatch { run, events, .. }: &FlushBatch,
    ) -> Result<Owned<FlushAnswer>, StoreError> {
        let owner = Owner {
            run_id: run.clone(),
            generation: generation.clone(),
        };
        let mut done = Owned::Done(FlushAnswer::default());
        if !events.is_empty() {
            done = self
                .append(&owner, events)
                .await?
                .map(|()| FlushAnswer::default());
        }
        if let (Owned::Done(_), Some(lease_ms)) = (&done, lease_ms) {
            let beat = self.heartbeat(&owner, lease_ms).await?;
            done = beat.map(|beat| answer(beat, Vec::new()));
        }
        Ok(done)
    }
}

fn answer(beat: Beat, inbox: Vec<Followup>) -> FlushAnswer {
    let Beat {
        stop,
        phase: _,
        stop_actor,
    } = beat;
    FlushAnswer {
        stop,
        stop_actor: stop_actor.as_ref().and_then(stop_actor::from_wire),
        inbox,
    }
}

/// Converts the response for a run, which must be the requested run.
fn flush_answer(news: &FlushBatch, flushed: RunFlushed) -> Result<Owned<FlushAnswer>, StoreError> {
    let RunFlushed {
        run_id,
        ok,
        outcome,
    } = flushed;
    if run_id != news.run {
        return Err(malformed("another run than was asked about"));
    }
    match outcome {
        FlushOutcome::Done { beat, inbox } if ok => Ok(Owned::Done(answer(beat, inbox))),
        FlushOutcome::Lost(conflict) if !ok => owned(Err(conflict)),
        FlushOutcome::Done { .. } | FlushOutcome::Lost(_) => {
            Err(malformed("a run with another ok"))
        }
    }
}
