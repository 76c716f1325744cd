//! Who may do what: the ingress token map, actors and grants, the permission gates, and secrets.
//!
//! Not here: reading the environment or headers (shells do that) and evaluating the run list's predicate (`ars-runs`).
//! Implements document 1 sections 2.2 and 5, bot supplement sections 1 and 7.
#![forbid(unsafe_code)]

pub mod dashboard;
pub mod gate;
pub mod grants;
pub mod policy;

mod actor;
mod baseline;
mod bearer;
mod denied;
mod gates;
mod restrict;
mod secret;
mod tokens;

pub use actor::{Actor, Grants, Ingress, Kind, Set};
pub use bearer::{bearer, strict_bearer};
pub use denied::Denied;
pub use gates::{can_run_agent, can_use_repo};
pub use restrict::Restrictions;
pub use secret::Secret;
pub use tokens::{ParsedTokens, ShapeFault, TokenEntry, TokenMap};
