//! Who may see which runs, as a predicate in wire form (state-worker supplement section 6).
//!
//! The store evaluates it inside SQL (`sql` below). Whatever is not understood is refused, never read as `all`.
//! Not here: the predicate itself (`ars-types`), and making one from an actor's grants (`ars-auth`).

mod parse;
mod sql;

pub use ars_types::visible_to::{Filter, Subject};
pub use parse::parse;
pub(crate) use sql::{Condition, condition};
