//! The Durable Object that keeps the finished runs of one store and the ledger of its live ones (document 2 sections
//! 2.3, 2.4, 3.3, 4.3; state-worker supplement sections 5, 7 and 9).
//!
//! - **Key:** the store key of the request's body, such as `runs:default`; a new key makes a new, empty object.
//! - **Tables:** those of `migrations/run-store`: `runs`, `run_events`, `retention` and `live_*`.
//! - **Invariants**, in the order the ledger's verbs keep them (`ars_runs`, `ledger`): at most one live run per
//!   thread; a fenced writer changes nothing; the right to reply is granted once; an acknowledged event stays; a
//!   finished run leaves no live row. And of finished runs: what the retention excludes is hidden at once.
//! - **Routes:** the paths of `RunVerb`: `/runs/put` to `/runs/inbox`. 409 carries the ledger's reasons.
//! - **Alarm:** the sweep, every six hours from the first put or finish on.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`); a put, finish, append, claim or reclaim is
//!   one transaction of the storage port, and every other ledger write is one statement that names its condition.
//!
//! Not here: SQL and validation (`ars-runs`), JavaScript (`ars-platform`), the exported class (the Worker's newtype).

use ars_platform::{DoSql, StoreObject};
use ars_runs::RunStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "RUN_STORE";

/// A run store as a Durable Object.
pub type RunStoreObject = StoreObject<RunStore<DoSql>>;
