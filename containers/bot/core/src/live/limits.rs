//! Limits of requests to the ledger.

use std::time::Duration;

use ars_wire::ledger::LEASE_MS;

/// Timeout of a claim, all attempts together, because the requester waits for it.
pub(crate) const CLAIM_TIMEOUT: Duration = Duration::from_secs(5);

/// Duration of a lease in milliseconds, from each flush that extends it.
pub(crate) const LEASE: u32 = LEASE_MS;

/// Events of one run that start a flush early.
pub(super) const BATCH_EVENTS: u64 = 32;
