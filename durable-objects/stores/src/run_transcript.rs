//! The Durable Object that keeps the transcript of one live run (document 2 section 2.4, state-worker supplement
//! section 10.1).
//!
//! - **Key:** the run's id. One object a run, so that transcripts spread over the platform and never stand in the way
//!   of the ledger, which all live runs share.
//! - **Tables:** those of `migrations/run-transcript`: `transcript_owners`, `_rows`, `_attachments`.
//! - **Invariants:** only the owner set last writes, and a write lands whole or not at all; clearing leaves nothing,
//!   and the object gives up its database and ceases to exist.
//! - **Routes:** the paths of `TranscriptVerb`. Writes answer 409 `unknown-run` before any owner, `fenced` to another.
//! - **Atomicity:** every answer is one synchronous span (`StoreObject`); a write and a clear are one transaction each.
//!
//! Not here: SQL and validation (`ars-runs`), JavaScript (`ars-platform`), the exported class (the Worker's newtype).

use ars_platform::{DoSql, StoreObject};
use ars_runs::TranscriptStore;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "RUN_TRANSCRIPT";

/// A transcript as a Durable Object.
pub type RunTranscriptObject = StoreObject<TranscriptStore<DoSql>>;
