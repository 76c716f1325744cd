//! The configuration document store over the storage port.
//!
//! - **Key:** the document's, a lowercase slug. The edge has one database per document, the bot a
//!   single database for all.
//! - **Tables:** those in `migrations/config`.
//! - **Invariants:** a document is replaced whole, by compare-and-swap on its version; versions are
//!   never reused; the content is not interpreted.
//!
//! Not here: the bot's documents (`Scopes`).

mod config_store;
mod get;
mod put;

pub use config_store::{ConfigStore, MIGRATIONS};
