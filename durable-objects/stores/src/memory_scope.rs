//! The Durable Object of one scope's memory.
//!
//! - **Key:** the scope key of the request's body, such as `repo:acme/app`. A scope sees its own rows only.
//! - **Tables:** those of `migrations/memory-scope`: the records and their full-text index, kept in step.
//! - **Invariants:** only active records are returned. An id is never reused. A batch is written whole, evictions
//!   included. Text of a query or record is never full-text syntax.
//! - **Alarm:** the sweep of retired text, every day from the first write, forget, or read of a scope that has such text.
//! - **Routes:** the paths of `MemoryVerb`: `/retrieve`, `/write`, `/list`, `/forget`.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`). A write is one transaction.
//!
//! Not here: SQL, scoring and validation (`ars-memory`), JavaScript (`ars-platform`), the exported class.

use ars_memory::MemoryStore;
use ars_platform::{DoSql, StoreObject};

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "MEMORY_SCOPE";

/// A memory scope as a Durable Object.
pub type MemoryScopeObject = StoreObject<MemoryStore<DoSql>>;
