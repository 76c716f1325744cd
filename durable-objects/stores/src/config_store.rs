//! The Durable Object for a configuration document with versions.
//!
//! - **Key:** the document's key, a lowercase slug. Each document has an object.
//! - **Tables:** those in `migrations/config`.
//! - **Invariants:** a put replaces the whole document and names the version it replaces. A version
//!   is never reused. An object that was only read deletes its database.
//! - **Routes:** the paths in `ConfigVerb`: `/config/get`, `/config/put`.
//! - **Atomicity:** every answer is a single synchronous span (`StoreObject`). A put compares and
//!   swaps in a single statement.
//!
//! Not here: SQL and validation (`ars-settings`), JavaScript (`ars-platform`), the exported class.

use ars_platform::{DoSql, StoreObject};
use ars_settings::ConfigStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "CONFIG_STORE";

/// A configuration document as a Durable Object.
pub type ConfigStoreObject = StoreObject<ConfigStore<DoSql>>;
