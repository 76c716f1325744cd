//! Limits for ledger requests.

use std::time::Duration;

use ars_wire::ledger::LEASE_MS;

/// Timeout for a claim, all attempts together, because the requester waits for it.
pub(crate) const CLAIM_TIMEOUT: Duration = Duration::from_secs(5);

/// Lease duration in milliseconds, from each flush that extends it.
pub(crate) const LEASE: u32 = LEASE_MS;

/// A run's event count that starts a flush early.
pub(super) const BATCH_EVENTS: u64 = 32;
