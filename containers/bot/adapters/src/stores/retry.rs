//! Retries store requests, as a transport decorator.
//!
//! Only requests that may be repeated are retried: the store grants a repeated claim again, and a
//! repeated step or state replaces itself. The other routes are sent once: the next flush or
//! heartbeat delivers again, a lost event batch is in the record, and the history writer retries
//! records itself. A conflict is a response and never retried.

use std::time::Duration;

use ars_bot_ports::{StoreError, StoreErrorKind};
use ars_wire::state::{Route, RunVerb};
use async_trait::async_trait;
use serde_json::Value;

use super::{
    failure::kind_of,
    transport::{StoreResponse, Transport},
};

/// Backoff for a claim and the lookup before it: the request waits for both.
const CLAIM: &[Duration] = &[Duration::from_millis(200), Duration::from_millis(800)];
/// Backoff for a step, and for the dispatcher's state: the step's tools wait for it.
const STEP: &[Duration] = &[Duration::from_millis(200)];

/// A transport with retries.
pub(super) struct Retrying<T>(pub(super) T);

#[async_trait]
impl<T: Transport> Transport for Retrying<T> {
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError> {
        for wait in backoff(route) {
            let answer = self.0.send(route, body.clone()).await;
            if !is_transient(&answer) {
                return answer;
            }
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            let run = run_of(&body);
            tracing::warn!(
                route = route.path(),
                run,
                wait_ms,
                "store request failed; retrying"
            );
            tokio::time::sleep(*wait).await;
        }
        self.0.send(route, body).await
    }
}

/// Returns the waits between attempts on a route. A new route is sent once unless it has a row
/// here.
const fn backoff(route: Route) -> &'static [Duration] {
    match route {
        Route::Runs(RunVerb::Claim | RunVerb::FirstUse) => CLAIM,
        Route::Runs(RunVerb::Step | RunVerb::State) => STEP,
        Route::Runs(_)
        | Route::Memory(_)
        | Route::Friction(_)
        | Route::Schedules(_)
        | Route::Transcript(_)
        | Route::Config(_) => &[],
    }
}

/// Returns the run that a retried body names: a claim in `run`, the other routes at the top.
fn run_of(body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    let run = body.get("runId").or_else(|| body.get("run")?.get("runId"));
    Some(run?.as_str()?.to_owned())
}

fn is_transient(answer: &Result<StoreResponse, StoreError>) -> bool {
    let kind = match answer {
        Ok(StoreResponse {
            status: 200 | 409, ..
        }) => return false,
        Ok(answer) => kind_of(answer.status),
        Err(error) => error.kind,
    };
    kind == StoreErrorKind::Transient
}

#[cfg(test)]
mod tests {
    use ars_types::{Generation, RunId};
    use ars_wire::ledger::{ClaimRequest, LEASE_MS, NewRun, Owner, OwnerWrite, State};
    use serde::Serialize;
    use serde_json::Map;

    use super::*;

    fn named(body: &impl Serialize) -> Option<String> {
        run_of(&serde_json::to_string(body).unwrap())
    }

    #[test]
    fn retried_bodies_name_their_run() {
        let owner = Owner {
            run_id: RunId::parse("r1").unwrap(),
            generation: Generation::parse("g1").unwrap(),
        };
        let run = NewRun {
            run_id: owner.run_id.clone(),
            thread_key: "t1".into(),
            generation: owner.generation.clone(),
            lease_ms: LEASE_MS,
            started_at: 5.into(),
            meta: Map::new(),
            card: None,
            system: String::new(),
            tools: Vec::new(),
            state: None,
            idempotency: None,
        };
        assert_eq!(named(&ClaimRequest { run: &run }).as_deref(), Some("r1"));
        let write = OwnerWrite {
            owner: &owner,
            what: State { state: &Map::new() },
        };
        assert_eq!(named(&write).as_deref(), Some("r1"));
        assert_eq!(run_of("{}"), None);
    }
}
