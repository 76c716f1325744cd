//! The Durable Object for a store's finished runs and its live-run ledger.
//!
//! - **Key:** the store key in the request's body, such as `runs:default`. A new key makes a new,
//!   empty object.
//! - **Tables:** those in `migrations/run-store`: `runs`, `run_events`, `retention` and `live_*`.
//! - **Invariants**, in the ledger verbs' order (`ars_runs`, `ledger`): at most one live run per
//!   thread. A fenced writer changes nothing. The reply permit is granted once. An acknowledged
//!   event stays. A finished run leaves no live row. A finished run outside the retention is hidden
//!   at once.
//! - **Routes:** the paths in `RunVerb`: `/runs/put` to `/runs/inbox`. 409 carries the ledger's
//!   reasons.
//! - **Alarm:** the sweep, every six hours after the first put or finish.
//! - **Atomicity:** every answer is a single synchronous span (`StoreObject`). A put, finish,
//!   append, claim or reclaim is a single transaction, and every other ledger write is a single
//!   conditional statement.
//!
//! Not here: SQL and validation (`ars-runs`), JavaScript (`ars-platform`), the exported class.

use ars_platform::{DoSql, StoreObject};
use ars_runs::RunStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "RUN_STORE";

/// A run store as a Durable Object.
pub type RunStoreObject = StoreObject<RunStore<DoSql>>;
