//! Memory: what is remembered in a scope, how it is found again, and the store that keeps it.
//!
//! The rules are pure and in files of their own, because the bot ranks the records of several scopes by the same
//! [`Query`]. Implements document 2 sections 2.2, 3.4 and 4.2, and state-worker supplement section 2. Not here: what is
//! worth remembering, and how records get into a prompt (the bot's).
#![forbid(unsafe_code)]

pub mod record_id;
pub mod scopes;

mod candidate;
mod normalize;
mod query;
mod store;
mod tokens;

pub use normalize::normalize;
pub use query::Query;
pub use scopes::{Scope, ScopeError, Scopes};
pub use store::{DEFAULT_CAP, MIGRATIONS, MemoryStore};
pub use tokens::tokens;
