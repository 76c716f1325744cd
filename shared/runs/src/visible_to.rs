//! A viewer's visibility predicate in wire form.
//!
//! The store evaluates it inside SQL (`sql` below). An unknown filter is rejected and never reads
//! as `all`. Not here: the predicate type (`ars-types`), and building a predicate from an actor's
//! grants (`ars-auth`).

mod parse;
mod sql;

pub use ars_types::visible_to::{Filter, Subject};
pub use parse::parse;
pub(crate) use sql::{Condition, condition};
