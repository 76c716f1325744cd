//! The Durable Object for a friction ledger's newest diagnoses.
//!
//! - **Key:** the ledger key in the request's body, such as `friction:acme/app`.
//! - **Tables:** those in `migrations/friction-ledger`.
//! - **Invariants:** a single record per run, the newest 500 by (finish, run) in any arrival order.
//! - **Routes:** the paths in `FrictionVerb`: `/friction/record`, `/friction/recent`.
//! - **Atomicity:** every answer is a single synchronous span (`StoreObject`). A record and its
//!   trim share a transaction.
//!
//! Not here: the analyzer, SQL and validation (`ars-friction`), JavaScript (`ars-platform`), the
//! exported class.

use ars_friction::records::FrictionStore;
use ars_platform::{DoSql, StoreObject};

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "FRICTION_LEDGER";

/// A friction ledger as a Durable Object.
pub type FrictionLedgerObject = StoreObject<FrictionStore<DoSql>>;
