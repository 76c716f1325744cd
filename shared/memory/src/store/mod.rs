//! A single scope's store over the storage port (docs/reference/memory.md#routes).
//!
//! - **Key:** the scope's. A database holds a single scope, because a full-text rank compares a
//!   record with all others.
//! - **Tables:** those in `migrations/memory-scope`. Triggers update the full-text index with the
//!   rows.
//! - **Invariants:** a row is never deleted and its number never reused; inactive records are never
//!   found, listed or deduplicated against; a write is atomic and leaves at most as many active
//!   records as its cap.
//!
//! Not here: the set of scopes, and permissions on them.

mod forget;
mod list;
mod memory_store;
mod plan;
mod request;
mod retrieve;
mod rows;
mod write;

pub use memory_store::{MIGRATIONS, MemoryStore, RETIRED_MAX_AGE_MS};
pub use write::DEFAULT_CAP;
