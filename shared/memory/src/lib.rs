//! Memory: a scope's records, their retrieval, and their store (docs/reference/memory.md).
//!
//! The rules are pure: a store ranks the records in its scope with a [`Query`], and the bot ranks
//! those from several scopes with the same [`Query`]. [`reading`] formats records for a prompt;
//! [`reflection`] turns a model's answer about a run into records. Not here: calls to stores and
//! models, permissions on scopes, and redaction.
#![forbid(unsafe_code)]

pub mod reading;
pub mod record_id;
pub mod reflection;
pub mod scopes;

mod candidate;
mod error;
mod normalize;
mod query;
#[cfg(test)]
mod samples;
mod store;
mod tokens;

pub use error::ScopeError;
pub use normalize::normalize;
pub use query::Query;
pub use scopes::{Scope, Scopes};
pub use store::{DEFAULT_CAP, MIGRATIONS, MemoryStore, RETIRED_MAX_AGE_MS};
pub use tokens::tokens;
