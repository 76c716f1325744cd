//! The run store's port over an exchange of JSON texts.
//!
//! Answers are read as if a stranger had written them: what is malformed is an error, not a guess.

use ars_bot_core::ports::{RunStore, StoreError, StoreErrorKind, Stored};
use ars_runs::{RunRecord, diagnosis};
use ars_store::json;
use ars_types::{RunId, StoreKey, UnixMillis};
use ars_wire::runs::{
    DEFAULT_STORE, EventsPage, EventsRequest, EventsResponse, GetRequest, GetResponse, ListRequest,
    ListResponse, Policy, PutRequest, PutResponse,
};
use ars_wire::state::{RunVerb, Verb as _};
use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// What every answer holds, be it null.
const fn answer_key(verb: RunVerb) -> &'static str {
    match verb {
        RunVerb::Get => "record",
        RunVerb::List => "items",
        RunVerb::Events => "events",
        _ => "ok",
    }
}

/// Exchanges a request's text for the answer's.
#[async_trait]
pub trait Exchange: Send + Sync {
    /// The answer of a 200, or the failure in its class.
    async fn exchange(&self, verb: RunVerb, body: String) -> Result<String, StoreError>;
}

/// The retention this bot is configured with; the store takes it over if it was decided after the one it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposal {
    /// What to keep.
    pub policy: Policy,
    /// When the configuration was read.
    pub updated_at: UnixMillis,
}

/// The port, over an exchange.
pub struct Client<E> {
    exchange: E,
    store_key: StoreKey,
    proposal: Option<Proposal>,
}

impl<E: Exchange> Client<E> {
    pub(super) fn new(exchange: E, proposal: Option<Proposal>) -> Result<Self, StoreError> {
        let store_key = StoreKey::parse(DEFAULT_STORE).map_err(|error| permanent(error.to_string()))?;
        Ok(Self { exchange, store_key, proposal })
    }

    async fn call<A: DeserializeOwned>(
        &self,
        verb: RunVerb,
        request: &impl Serialize,
    ) -> Result<A, StoreError> {
        let body = serde_json::to_string(request).map_err(|error| permanent(format!("request: {error}")))?;
        if body.len() > verb.fence() {
            return Err(permanent(format!("a body of {} bytes is over the store's limit", body.len())));
        }
        let answer = self.exchange.exchange(verb, body).await?;
        let answer = json::parse(&answer).map_err(malformed)?;
        // A null is how the store says "no such run"; nothing at all says nothing.
        match answer.get(answer_key(verb)) {
            Some(_) => serde_json::from_value(answer).map_err(malformed),
            None => Err(malformed(format_args!("no {}", answer_key(verb)))),
        }
    }
}

#[async_trait]
impl<E: Exchange> RunStore for Client<E> {
    async fn put(&self, record: &RunRecord) -> Result<Stored, StoreError> {
        let request = PutRequest {
            store_key: self.store_key.clone(),
            record,
            policy: self.proposal.map(|proposal| proposal.policy),
            policy_updated_at: self.proposal.map(|proposal| proposal.updated_at),
        };
        match self.call(RunVerb::Put, &request).await? {
            PutResponse { ok: true, stored, .. } => Ok(Stored { stored }),
            PutResponse { ok: false, .. } => Err(malformed("ok is false")),
        }
    }

    async fn get(&self, id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let request = GetRequest { store_key: self.store_key.clone(), id: id.clone() };
        let answer: GetResponse<Value> = self.call(RunVerb::Get, &request).await?;
        let Some(record) = answer.record else { return Ok(None) };
        let record = RunRecord::from_stored(record).map_err(malformed)?;
        if &record.id == id { Ok(Some(record)) } else { Err(malformed("another run")) }
    }

    async fn list(&self, request: &ListRequest) -> Result<ListResponse, StoreError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Keyed<'a> {
            store_key: &'a StoreKey,
            #[serde(flatten)]
            request: &'a ListRequest,
        }
        let request = Keyed { store_key: &self.store_key, request };
        let mut answer: ListResponse = self.call(RunVerb::List, &request).await?;
        answer.items.iter_mut().try_for_each(read_item)?;
        Ok(answer)
    }

    async fn events(&self, id: &RunId, after_seq: u64, limit: u32) -> Result<Option<EventsPage>, StoreError> {
        let request = EventsRequest {
            store_key: self.store_key.clone(),
            id: id.clone(),
            after_seq,
            limit: Some(limit),
        };
        let EventsResponse { events, next_after_seq } = self.call(RunVerb::Events, &request).await?;
        let Some(events) = events else { return Ok(None) };
        let whole = |event: &Value| event["type"].is_string() && event["seq"].is_number();
        if events.iter().all(whole) {
            Ok(Some(EventsPage { events, next_after_seq }))
        } else {
            Err(malformed("an event without a type or seq"))
        }
    }
}

/// Checks an item by the rules of a record, and makes its diagnosis what readers expect.
fn read_item(item: &mut Value) -> Result<(), StoreError> {
    let mut record = item.clone();
    let Value::Object(fields) = &mut record else { return Err(malformed("an item that is no object")) };
    fields.insert("events".into(), json!([]));
    RunRecord::from_stored(record).map_err(malformed)?;
    if let Some(stored) = item.get_mut("diagnosis") {
        diagnosis::normalise(stored);
    }
    Ok(())
}

pub(super) fn permanent(message: impl Into<String>) -> StoreError {
    StoreError { kind: StoreErrorKind::Permanent, message: message.into() }
}

fn malformed(what: impl std::fmt::Display) -> StoreError {
    permanent(format!("malformed answer: {what}"))
}

/// A failure by the HTTP status it travels with (document 2 section 7).
pub(super) fn by_status(status: u16, message: &str) -> StoreError {
    let kind = match status {
        404 => StoreErrorKind::RouteMissing,
        408 | 429 | 500..=599 => StoreErrorKind::Transient,
        _ => StoreErrorKind::Permanent,
    };
    StoreError { kind, message: format!("{status}: {message}") }
}

/// An error and what caused it, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
