//! The ledger of live runs (document 2 sections 2.4 and 3.3, state-worker supplement section 9).
//!
//! A bot generation claims a run's thread, writes under its own name as a fencing token, and ends the run by writing
//! its record; what it leaves behind, a later generation reclaims. Invariants, in the order the verbs keep them:
//!
//! 1. At most one live run per thread: the thread's key is unique, and only a finish frees it. A lapsed lease does not.
//! 2. A writer of another generation changes nothing: every owner write names its generation in its condition.
//! 3. The right to reply is granted once: `finishing` is entered from another phase only.
//! 4. An event that was acknowledged stays until the run's own record takes its place: appends replace by seq, and
//!    while a run lives neither a put, a deletion nor a sweep removes its events.
//! 5. A finished run leaves no live row: the record and the end of the row are one transaction.
//!
//! The fence compares generations and not times, so an owner whose lease has lapsed may write until somebody takes
//! the run. Not here: what a reclaiming bot does with what it gets, transcripts.

mod append;
mod claim;
mod fence;
mod finish;
mod finishing;
mod flush;
mod handoff;
mod heartbeat;
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

/// What most owner writes answer.
const OK: &str = r#"{"ok":true}"#;
/// What is answered about a run that is not live by a route that needs no generation.
const NOT_LIVE: &str = r#"{"ok":false}"#;
