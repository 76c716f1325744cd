//! Every port of the stores, over one transport of JSON texts.
//!
//! Answers are read as if a stranger had written them: what is malformed is an error, not a guess. A conflict is a
//! result. Ids and keys are types that cannot be wrong, so a bad one never leaves the process. Not here: retries
//! (`ars_bot_core::retry`) and the byte budget of records (`ars_runs::budget`).

mod config;
mod flush;
mod friction;
mod ledger;
mod memory;
mod runs;
mod schedules;
mod transcript;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use ars_bot_ports::{
    StoreError, StoreErrorKind,
    metrics::{self, Outcome},
};
use ars_runs::RunRecord;
use ars_store::json;
use ars_types::{StoreKey, UnixMillis};
use ars_wire::{
    ledger::Conflict,
    runs::{DEFAULT_STORE, Keyed, Policy, PutRequest},
    state::Route,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    failure::{malformed, over_limit, permanent, refused},
    transport::{Answer, Transport},
};

/// The retention this bot is configured with; the store takes it over if it was decided after the one it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposal {
    /// What to keep.
    pub policy: Policy,
    /// When the configuration was read.
    pub updated_at: UnixMillis,
}

/// Every store's port, over an transport.
pub struct Client<T> {
    transport: T,
    store_key: StoreKey,
    proposal: Option<Proposal>,
    memory_cap: Option<u32>,
    /// A route was not there.
    is_degraded: AtomicBool,
    /// The route of the flush was not.
    lacks_flush: AtomicBool,
}

impl<T: Transport> Client<T> {
    /// A client over an transport.
    pub fn over(transport: T, proposal: Option<Proposal>) -> Result<Self, StoreError> {
        let store_key = StoreKey::parse(DEFAULT_STORE).map_err(|error| permanent(error.to_string()))?;
        let (is_degraded, lacks_flush) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self { transport, store_key, proposal, memory_cap: None, is_degraded, lacks_flush })
    }

    /// Sends this cap on a scope's records with every write to memory, 1 to 10000.
    #[must_use]
    pub fn with_memory_cap(mut self, records: u32) -> Self {
        self.memory_cap = Some(records);
        self
    }

    /// Whether the store turned out to be older than this bot: it lacks a route that was asked for.
    pub fn is_degraded(&self) -> bool {
        self.is_degraded.load(Ordering::Relaxed)
    }

    /// Asks for what may not conflict.
    async fn ask<A: DeserializeOwned>(
        &self,
        route: Route,
        request: &impl Serialize,
    ) -> Result<A, StoreError> {
        let Answer { status, text } = self.send(route, request).await?;
        if status != 200 {
            return Err(refused(status, &text));
        }
        serde_json::from_value(parse(&text)?).map_err(malformed)
    }

    /// Asks for something to be done, whose answer says `ok: true`, or how things are against it.
    async fn order<A: DeserializeOwned>(
        &self,
        route: Route,
        request: &impl Serialize,
    ) -> Result<Result<A, Conflict>, StoreError> {
        let Answer { status, text } = self.send(route, request).await?;
        let answer = parse(&text)?;
        if answer["ok"] != (status == 200) {
            return Err(malformed(format_args!("{status} with another ok")));
        }
        match status {
            200 => serde_json::from_value(answer).map(Ok).map_err(malformed),
            _ => serde_json::from_value(answer).map(Err).map_err(malformed),
        }
    }

    /// The same of what nothing can be against.
    async fn command<A: DeserializeOwned>(
        &self,
        route: Route,
        request: &impl Serialize,
    ) -> Result<A, StoreError> {
        self.order(route, request).await?.map_err(|conflict| unexpected(&conflict))
    }

    fn keyed<B>(&self, body: B) -> Keyed<'_, B> {
        Keyed { store_key: &self.store_key, body }
    }

    /// A record with the retention it is to be kept by.
    fn put_request<'a>(&self, record: &'a RunRecord) -> PutRequest<&'a RunRecord> {
        PutRequest {
            record,
            policy: self.proposal.map(|proposal| proposal.policy),
            policy_updated_at: self.proposal.map(|proposal| proposal.updated_at),
        }
    }

    /// The answer of a 200 or 409; any other is a failure in its class.
    async fn send(&self, route: Route, request: &impl Serialize) -> Result<Answer, StoreError> {
        let body = serde_json::to_string(request).map_err(|error| permanent(format!("request: {error}")))?;
        if body.len() > route.fence() {
            return Err(over_limit(body.len()));
        }
        let began = Instant::now();
        let answer = self.transport.send(route, body).await;
        metrics::store_request(route.path(), outcome(&answer), began.elapsed());
        let answer = answer?;
        if matches!(answer.status, 200 | 409) {
            return Ok(answer);
        }
        let error = refused(answer.status, &answer.text);
        if error.kind == StoreErrorKind::RouteMissing && !self.is_degraded.swap(true, Ordering::Relaxed) {
            tracing::warn!(route = route.path(), "the state Worker lacks a route: deploy it before the bot");
        }
        Err(error)
    }
}

/// A conflict is an answer like another.
fn outcome(answer: &Result<Answer, StoreError>) -> Outcome {
    match answer {
        Ok(Answer { status: 200 | 409, .. }) => Outcome::Ok,
        Ok(_) => Outcome::Failed,
        Err(_) => Outcome::Infra,
    }
}

/// Half a surrogate pair that another writer left behind does no harm.
fn parse(text: &str) -> Result<Value, StoreError> {
    json::parse(text).map_err(malformed)
}

/// A conflict where the route has none of this kind.
fn unexpected(conflict: &Conflict) -> StoreError {
    malformed(format_args!("a conflict out of place: {conflict:?}"))
}
