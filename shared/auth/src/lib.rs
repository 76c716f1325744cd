//! Who may do what: the ingress token map, actors and grants, the permission gates, and secrets.
//!
//! Not here: reading the environment or headers (shells do that) and the run list's predicate (`ars-runs`).
//! Implements document 1 sections 2.2 and 5, bot supplement sections 1 and 7.
#![forbid(unsafe_code)]

mod actor;
mod restrict;

pub use actor::{Actor, Grants, Set};
pub use restrict::Restrictions;
