//! Authentication and authorization: ingress tokens, actors, grants, permission checks and secrets.
//!
//! Not here: reading the environment or headers (the shells) and evaluating the run list's predicate (`ars-runs`).
#![forbid(unsafe_code)]

pub mod access;
pub mod dashboard;
pub mod gate;
pub mod grants;
pub mod people;
pub mod policy;

mod actor;
mod baseline;
mod bearer;
mod error;
mod gates;
mod person;
mod restrict;
mod secret;
mod surface;
mod tokens;
mod viewer;

pub use actor::{Actor, Grants, Ingress, Set};
pub use bearer::{bearer, strict_bearer};
pub use error::{Denied, EntryFault, PersonFault, Rejection, ShapeFault, TableFault, TokenFault};
pub use gates::{can_run_agent, can_use_repo, can_write_issues};
pub use person::Person;
pub use restrict::Restrictions;
pub use secret::Secret;
pub use surface::{Rejected, Surface};
pub use tokens::{ParsedTokens, TokenDigest, TokenEntry, TokenMap};
pub use viewer::Viewer;
