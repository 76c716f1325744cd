//! The Durable Object for a scope's memory.
//!
//! - **Key:** the scope key in the request's body, such as `repo:acme/app`. A scope sees its own
//!   rows only.
//! - **Tables:** those in `migrations/memory-scope`: the records and their full-text index, kept in
//!   step.
//! - **Invariants:** only active records are returned. An id is never reused. A batch is written
//!   whole, evictions included. Query or record text is never full-text syntax.
//! - **Alarm:** sweeps retired text, every day from the first write, forget, or read on a scope
//!   that has such text.
//! - **Routes:** the paths in `MemoryVerb`: `/retrieve`, `/write`, `/list`, `/forget`.
//! - **Atomicity:** every answer is a single synchronous span (`StoreObject`). A write is a single
//!   transaction.
//!
//! Not here: SQL, scoring and validation (`ars-memory`), JavaScript (`ars-platform`), the exported
//! class.

use ars_memory::MemoryStore;
use ars_platform::{DoSql, StoreObject};

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "MEMORY_SCOPE";

/// A memory scope as a Durable Object.
pub type MemoryScopeObject = StoreObject<MemoryStore<DoSql>>;
