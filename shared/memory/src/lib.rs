//! Memory: what is remembered in a scope, how it is found again, and the store that keeps it.
//!
//! The rules are pure and in files of their own, because the bot ranks the records of several scopes by the same
//! [`Query`]. [`reading`] turns records into the block of a prompt, [`reflection`] what a model says of a run into
//! records. Implements document 2 sections 2.2, 3.4 and 4.2, and state-worker supplement sections 2 and 12. Not here:
//! calls of stores and models, who may read a scope, and redaction (the bot's).
#![forbid(unsafe_code)]

pub mod reading;
pub mod record_id;
pub mod reflection;
pub mod scopes;

mod candidate;
mod normalize;
mod query;
#[cfg(test)]
mod samples;
mod store;
mod tokens;

pub use normalize::normalize;
pub use query::Query;
pub use scopes::{Scope, ScopeError, Scopes};
pub use store::{DEFAULT_CAP, MIGRATIONS, MemoryStore};
pub use tokens::tokens;
