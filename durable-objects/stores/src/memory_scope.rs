//! The Durable Object that keeps the memory of one scope (document 2 sections 2.2, 3.4, 4.2; state-worker supplement
//! section 2).
//!
//! - **Key:** the scope key of the request's body, such as `repo:acme/app`; a scope can only ever see its own rows.
//! - **Tables:** those of `migrations/memory-scope`: the records and their full-text index, kept in step.
//! - **Invariants:** only active records are ever returned; an id is never used again; what a batch writes is written
//!   whole, evictions included; text of a query or record is never full-text syntax.
//! - **Routes:** the paths of `MemoryVerb`: `/retrieve`, `/write`, `/list`, `/forget`.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`); a write is one transaction.
//!
//! Not here: SQL, scoring and validation (`ars-memory`), JavaScript (`ars-platform`), the exported class.

use ars_memory::MemoryStore;
use ars_platform::{DoSql, StoreObject};

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "MEMORY_SCOPE";

/// A memory scope as a Durable Object.
pub type MemoryScopeObject = StoreObject<MemoryStore<DoSql>>;
