//! The Durable Object of one store's finished runs and of the ledger of its live runs.
//!
//! - **Key:** the store key of the request's body, such as `runs:default`. A new key makes a new, empty object.
//! - **Tables:** those of `migrations/run-store`: `runs`, `run_events`, `retention` and `live_*`.
//! - **Invariants**, in the order of the ledger's verbs (`ars_runs`, `ledger`): at most one live run per thread. A
//!   fenced writer changes nothing. The reply permit is granted once. An acknowledged event stays. A finished run
//!   leaves no live row. A finished run outside the retention is hidden at once.
//! - **Routes:** the paths of `RunVerb`: `/runs/put` to `/runs/inbox`. 409 carries the ledger's reasons.
//! - **Alarm:** the sweep, every six hours after the first put or finish.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`). A put, finish, append, claim or reclaim is
//!   one transaction, and every other ledger write is one conditional statement.
//!
//! Not here: SQL and validation (`ars-runs`), JavaScript (`ars-platform`), the exported class.

use ars_platform::{DoSql, StoreObject};
use ars_runs::RunStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "RUN_STORE";

/// A run store as a Durable Object.
pub type RunStoreObject = StoreObject<RunStore<DoSql>>;
