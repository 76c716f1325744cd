//! The Durable Object that keeps the newest diagnoses of one friction ledger (state-worker supplement section 3).
//!
//! - **Key:** the ledger key of the request's body, such as `friction:acme/app`.
//! - **Tables:** those of `migrations/friction-ledger`.
//! - **Invariants:** one record a run, the newest 500 by (finish, run), whatever order they came in.
//! - **Routes:** the paths of `FrictionVerb`: `/friction/record`, `/friction/recent`.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`); a record and the trim it causes are one
//!   transaction.
//!
//! Not here: the analyzer, SQL and validation (`ars-friction`), JavaScript (`ars-platform`), the exported class.

use ars_friction::records::FrictionStore;
use ars_platform::{DoSql, StoreObject};

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "FRICTION_LEDGER";

/// A friction ledger as a Durable Object.
pub type FrictionLedgerObject = StoreObject<FrictionStore<DoSql>>;
