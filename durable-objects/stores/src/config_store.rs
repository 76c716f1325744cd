//! The Durable Object that keeps one configuration document by version (state-worker supplement section 14).
//!
//! - **Key:** the document's, a lowercase slug; one object each.
//! - **Tables:** those of `migrations/config`.
//! - **Invariants:** a document is replaced whole, and only by who has seen the version it replaces; a version is never
//!   given twice. An object that was only read gives up its database.
//! - **Routes:** the paths of `ConfigVerb`: `/config/get`, `/config/put`.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`); a put compares and swaps in one statement.
//!
//! Not here: SQL and validation (`ars-settings`), JavaScript (`ars-platform`), the exported class.

use ars_platform::{DoSql, StoreObject};
use ars_settings::ConfigStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "CONFIG_STORE";

/// A configuration document as a Durable Object.
pub type ConfigStoreObject = StoreObject<ConfigStore<DoSql>>;
