//! The Durable Object of one configuration document with versions.
//!
//! - **Key:** the document's key, a lowercase slug. One object each.
//! - **Tables:** those of `migrations/config`.
//! - **Invariants:** a put replaces the whole document and names the version it replaces. A version is never reused. An
//!   object that was only read deletes its database.
//! - **Routes:** the paths of `ConfigVerb`: `/config/get`, `/config/put`.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`). A put compares and swaps in one statement.
//!
//! Not here: SQL and validation (`ars-settings`), JavaScript (`ars-platform`), the exported class.

use ars_platform::{DoSql, StoreObject};
use ars_settings::ConfigStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "CONFIG_STORE";

/// A configuration document as a Durable Object.
pub type ConfigStoreObject = StoreObject<ConfigStore<DoSql>>;
