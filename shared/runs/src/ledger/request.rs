//! Fields in ledger requests.

use serde_json::{Map, Value};

use ars_store::{
    Refusal,
    json::parse_body,
    request::{integer, required_run_id},
};
use ars_types::{Generation, RunId};

/// Range for a requested lease, in milliseconds.
const LEASE_MS: std::ops::RangeInclusive<i64> = 1000..=3_600_000;
const LEASE_RULE: &str = "must be an integer from 1000 to 3600000";

/// A body, with the run and generation that every owner write names.
pub(super) struct OwnerWrite {
    pub body: Map<String, Value>,
    pub run: RunId,
    pub generation: Generation,
}

impl OwnerWrite {
    pub(super) fn read(body: &str) -> Result<Self, Refusal> {
        Self::from_fields(parse_body(body)?)
    }

    pub(super) fn from_fields(body: Map<String, Value>) -> Result<Self, Refusal> {
        let run = required_run_id(&body, "runId")?;
        let generation = generation(&body)?;
        Ok(Self {
            body,
            run,
            generation,
        })
    }
}

/// Reads the caller's generation.
pub(crate) fn generation(body: &Map<String, Value>) -> Result<Generation, Refusal> {
    let generation = body
        .get("gen")
        .and_then(Value::as_str)
        .and_then(|text| Generation::parse(text).ok());
    generation.ok_or_else(|| {
        Refusal::field(
            "gen",
            "must be 1 to 128 letters, digits, `_`, `.`, `:` or `-`",
        )
    })
}

/// Reads the lease duration.
pub(super) fn lease_ms(body: &Map<String, Value>) -> Result<i64, Refusal> {
    lease_ms_if_any(body)?.ok_or_else(|| Refusal::field("leaseMs", LEASE_RULE))
}

/// Reads an optional lease duration. Without it, leases stay unchanged.
pub(super) fn lease_ms_if_any(body: &Map<String, Value>) -> Result<Option<i64>, Refusal> {
    integer(body, "leaseMs", LEASE_MS, LEASE_RULE)
}

/// Returns a required object's JSON text.
pub(super) fn object(body: &Map<String, Value>, name: &str) -> Result<String, Refusal> {
    match body.get(name) {
        Some(object @ Value::Object(_)) => Ok(object.to_string()),
        _ => Err(Refusal::field(name, "must be an object")),
    }
}
