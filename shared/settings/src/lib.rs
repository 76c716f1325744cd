//! Layered settings for channels, users and the organization.
//!
//! A [`Scope`] holds the settings for a single channel, user or organization. [`Scopes`] come from
//! the configuration file or from overrides made at run time, which win key by key. [`Layers`]
//! resolves agent, model and effort. The
//! [`ConfigStore`] stores versioned documents such as the overrides, whatever their content. Not
//! here: the configuration file, and the permission to change settings (`ars-auth`).
#![forbid(unsafe_code)]

mod edit;
mod error;
mod instructions;
mod layers;
mod read;
mod scope;
mod scopes;
mod store;

pub use edit::Target;
pub use error::Fault;
pub use instructions::{MAX_CHARS as MAX_INSTRUCTIONS_CHARS, block as instructions_block};
pub use layers::{Choice, Defaults, Layers};
pub use scope::Scope;
pub use scopes::{MAX_BYTES as MAX_DOCUMENT_BYTES, Scopes};
pub use store::{ConfigStore, MIGRATIONS};
