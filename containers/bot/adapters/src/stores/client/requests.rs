//! The client and the requests: encoding, limits, and response classes.

use std::sync::atomic::{AtomicBool, Ordering};

use ars_bot_ports::{StoreError, StoreErrorKind};
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

use super::super::{
    failure::{malformed, over_limit, permanent, refused},
    measured::Measured,
    retry::Retrying,
    transport::{StoreResponse, Transport},
};

/// The configured retention. The store adopts it if it is newer than the store's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposal {
    /// Retention policy that the client sends.
    pub policy: Policy,
    /// When the configuration was read.
    pub updated_at: UnixMillis,
}

/// Why a command was not performed.
pub(super) enum OrderError {
    /// The ledger rejects the command.
    Conflict(Conflict),
    Failed(StoreError),
}

impl From<StoreError> for OrderError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

/// Implements every store's port over a transport.
pub struct Client<T> {
    /// Each attempt is measured.
    transport: Retrying<Measured<T>>,
    store_key: StoreKey,
    proposal: Option<Proposal>,
    pub(super) memory_cap: Option<u32>,
    /// The store lacked a route.
    is_degraded: AtomicBool,
}

impl<T: Transport> Client<T> {
    /// Makes a client over a transport.
    pub fn over(transport: T, proposal: Option<Proposal>) -> Result<Self, StoreError> {
        let store_key =
            StoreKey::parse(DEFAULT_STORE).map_err(|error| permanent(error.to_string()))?;
        Ok(Self {
            transport: Retrying(Measured(transport)),
            store_key,
            proposal,
            memory_cap: None,
            is_degraded: AtomicBool::new(false),
        })
    }

    /// Sends this limit for a scope's records with every memory write, 1 to 10000.
    #[must_use]
    pub fn with_memory_cap(mut self, records: u32) -> Self {
        self.memory_cap = Some(records);
        self
    }

    /// Returns whether the store is older than this bot: it lacks a route that was requested.
    pub fn is_degraded(&self) -> bool {
        self.is_degraded.load(Ordering::Relaxed)
    }

    /// Sends a request that cannot conflict.
    pub(super) async fn ask<A: DeserializeOwned>(
        &self,
        route: Route,
        request: &impl Serialize,
    ) -> Result<A, StoreError> {
        let StoreResponse { status, text } = self.request(route, request).await?;
        if status != 200 {
            return Err(refused(status, &text));
        }
        serde_json::from_value(parse(&text)?).map_err(malformed)
    }

    /// Sends a command. The response has `ok: true`, or a conflict.
    pub(super) async fn order<A: DeserializeOwned>(
        &self,
        route: Route,
        request: &impl Serialize,
    ) -> Result<A, OrderError> {
        let StoreResponse { status, text } = self.request(route, request).await?;
        let answer = parse(&text)?;
        if answer["ok"] != (status == 200) {
            return Err(malformed(format_args!("{status} with another ok")).into());
        }
        if status == 200 {
            return Ok(serde_json::from_value(answer).map_err(malformed)?);
        }
        let conflict = serde_json::from_value(answer).map_err(malformed)?;
        Err(OrderError::Conflict(conflict))
    }

    /// Sends a command that cannot conflict.
    pub(super) async fn command<A: DeserializeOwned>(
        &self,
        route: Route,
        request: &impl Serialize,
    ) -> Result<A, StoreError> {
        self.order(route, request)
            .await
            .map_err(|error| match error {
                OrderError::Conflict(conflict) => unexpected(&conflict),
                OrderError::Failed(error) => error,
            })
    }

    pub(super) fn keyed<B>(&self, body: B) -> Keyed<'_, B> {
        Keyed {
            store_key: &self.store_key,
            body,
        }
    }

    /// Returns a record with the retention to apply.
    pub(super) fn put_request<'a>(&self, record: &'a RunRecord) -> PutRequest<&'a RunRecord> {
        PutRequest {
            record,
            policy: self.proposal.map(|proposal| proposal.policy),
            policy_updated_at: self.proposal.map(|proposal| proposal.updated_at),
        }
    }

    /// Returns the response with status 200 or 409. Any other status is an error with the matching
    /// class.
    pub(super) async fn request(
        &self,
        route: Route,
        request: &impl Serialize,
    ) -> Result<StoreResponse, StoreError> {
        let body = serde_json::to_string(request)
            .map_err(|error| permanent(format!("request: {error}")))?;
        if body.len() > route.max_body_bytes() {
            return Err(over_limit(body.len()));
        }
        let answer = self.transport.send(route, body).await?;
        if matches!(answer.status, 200 | 409) {
            return Ok(answer);
        }
        let error = refused(answer.status, &answer.text);
        if error.kind == StoreErrorKind::RouteMissing
            && !self.is_degraded.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                route = route.path(),
                "the state Worker lacks a route: deploy it before the bot"
            );
        }
        Err(error)
    }
}

/// Parses an answer. Half a surrogate pair, which another writer may have stored, is accepted.
pub(super) fn parse(text: &str) -> Result<Value, StoreError> {
    json::parse(text).map_err(malformed)
}

/// Returns the error for a conflict on a route without conflicts.
pub(super) fn unexpected(conflict: &Conflict) -> StoreError {
    malformed(format_args!("a conflict out of place: {conflict:?}"))
}
