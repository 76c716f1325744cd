//! A single request with many runs' changes (docs/decisions/0007).
//!
//! Not here: when to flush, and how much.

use ars_bot_ports::{FlushBatch, FlushResponse, Owned, StoreError};
use ars_types::Generation;
use ars_wire::{
    ledger::{Beat, FlushOutcome, FlushRequest, Followup, RunFlushed, RunNews, RunsResponse},
    state::{Route, RunVerb},
};

use super::{Client, Transport, ledger::not_owned, malformed, stop_actor};

impl<T: Transport> Client<T> {
    /// Flushes runs and returns the ledger's answer for each, in the given order.
    pub(super) async fn flush_runs(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[FlushBatch],
    ) -> Result<Vec<Owned<FlushResponse>>, StoreError> {
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
}

fn answer(beat: Beat, inbox: Vec<Followup>) -> FlushResponse {
    let Beat {
        stop,
        phase: _,
        stop_actor,
    } = beat;
    FlushResponse {
        stop,
        stop_actor: stop_actor.as_ref().and_then(stop_actor::from_wire),
        inbox,
    }
}

/// Converts the response for a run, which must be the requested run.
fn flush_answer(
    news: &FlushBatch,
    flushed: RunFlushed,
) -> Result<Owned<FlushResponse>, StoreError> {
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
        FlushOutcome::Lost(conflict) if !ok => not_owned(&conflict),
        FlushOutcome::Done { .. } | FlushOutcome::Lost(_) => {
            Err(malformed("a run with another ok"))
        }
    }
}
