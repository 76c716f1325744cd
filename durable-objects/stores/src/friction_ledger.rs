//! The Durable Object of the newest diagnoses in one friction ledger.
//!
//! - **Key:** the ledger key of the request's body, such as `friction:acme/app`.
//! - **Tables:** those of `migrations/friction-ledger`.
//! - **Invariants:** one record per run, the newest 500 by (finish, run) in any order of arrival.
//! - **Routes:** the paths of `FrictionVerb`: `/friction/record`, `/friction/recent`.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`). A record and its trim are one transaction.
//!
//! Not here: the analyzer, SQL and validation (`ars-friction`), JavaScript (`ars-platform`), the exported class.

use ars_friction::records::FrictionStore;
use ars_platform::{DoSql, StoreObject};

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "FRICTION_LEDGER";

/// A friction ledger as a Durable Object.
pub type FrictionLedgerObject = StoreObject<FrictionStore<DoSql>>;
