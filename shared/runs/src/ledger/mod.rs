//! The ledger for live runs.
//!
//! A bot generation claims a run's thread, writes with its generation as the fencing token, and
//! ends the run by writing its record. Orphaned runs are reclaimed by a later generation.
//! Invariants, in verb order:
//!
//! 1. At most one live run per thread: the thread key is unique, and only a finish frees it. An
//!    expired lease does not.
//! 2. A writer from another generation changes nothing: every owner write has the generation in its
//!    condition.
//! 3. The reply permit is granted once: `finishing` is entered from another phase only.
//! 4. An acknowledged event stays until the run's record replaces it: appends replace by seq, and
//!    no put, deletion or sweep removes a live run's events.
//! 5. A finished run has no live row: a single transaction writes the record and removes the row.
//!
//! The fence compares generations, not times: an owner with an expired lease may write until the
//! run is reclaimed. A claim may carry its request's idempotency key, so that a repeated request
//! finds the first run (`idempotency`). Not here: resuming a reclaimed run, transcripts.

mod answers;
mod append;
mod claim;
mod fence;
mod finish;
mod finishing;
mod flush;
mod handoff;
mod heartbeat;
mod idempotency;
mod inbox;
mod live;
mod live_events;
mod reclaim;
mod request;
mod row;
mod state;
mod step;
mod stop;

pub(crate) use fence::{FENCED, UNKNOWN_RUN};
pub(crate) use request::generation;
