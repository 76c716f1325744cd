//! The Durable Object for a live run's transcript.
//!
//! - **Key:** the run id. An object per run spreads transcripts over the platform, away from the
//!   ledger that all live runs share.
//! - **Tables:** those in `migrations/run-transcript`: `transcript_owners`, `_rows`,
//!   `_attachments`.
//! - **Invariants:** only the newest owner writes, and a write is stored whole or not at all. A
//!   cleared object deletes its database and ceases to exist. An object that nothing clears deletes
//!   itself by its alarm, two weeks after the last write.
//! - **Routes:** the paths in `TranscriptVerb`. A write answers 409 `unknown-run` before any owner,
//!   `fenced` to others.
//! - **Atomicity:** every answer is a single synchronous span (`StoreObject`). A write and a clear
//!   each use a transaction.
//!
//! Not here: SQL and validation (`ars-runs`), JavaScript (`ars-platform`), the exported class.

use ars_platform::{DoSql, StoreObject};
use ars_runs::TranscriptStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "RUN_TRANSCRIPT";

/// A transcript as a Durable Object.
pub type RunTranscriptObject = StoreObject<TranscriptStore<DoSql>>;
