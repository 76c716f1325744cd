//! Layered settings: what a channel and a user want of their requests, and what that comes to.
//!
//! A [`Scope`] is what one channel, user or organization says; [`Scopes`] are those of the configuration file, or the
//! overrides made at run time, and the latter win key by key. [`Layers`] resolves agent, model and effort. The
//! [`ConfigStore`] keeps documents such as the overrides by version, whatever they say. Implements bot supplement
//! section 12.3 and state-worker supplement section 14. Not here: the configuration file, and who may change what
//! (`ars-auth`).
#![forbid(unsafe_code)]

mod edit;
mod fault;
mod instructions;
mod layers;
mod read;
mod scope;
mod scopes;
mod store;

pub use edit::Target;
pub use fault::Fault;
pub use instructions::{MAX_CHARS as MAX_INSTRUCTIONS_CHARS, block as instructions_block};
pub use layers::{Choice, Defaults, Layers};
pub use scope::Scope;
pub use scopes::{MAX_BYTES as MAX_DOCUMENT_BYTES, Scopes};
pub use store::{ConfigStore, MIGRATIONS};
