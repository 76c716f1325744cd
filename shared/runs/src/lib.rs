//! Finished and live runs over the storage port.
//!
//! The record, byte budget and retention, the record store, the ledger for live runs and their
//! transcripts. The same code runs in the bot's embedded store and in the run-store Durable Object.
//! Not here: connections, HTTP, clocks.
#![forbid(unsafe_code)]

pub mod budget;
pub mod retention;
pub mod visible_to;

mod acceptance;
mod canonical;
mod closing;
mod ledger;
mod outcomes;
mod pull_facts;
mod record;
mod store;
mod stored_run;
mod transcript;

pub use ars_friction::records::diagnosis;
pub use closing::{ClosedRun, closing_record};
pub use outcomes::{OutcomeRun, Outcomes, outcomes};
pub use pull_facts::{
    POSTED_REVIEW, PULL_REQUEST, PostedReviewFact, PullRequestFact, PullRequestState,
    add_posted_review, add_pull_request, fact,
};
pub use record::{
    ABRIDGE_COST, COST, REFLECTION_COST, RESERVED_COST, RunRecord, SCHEMA_WITH_SPANS, TAINT,
};
pub use store::{MIGRATIONS, RunStore, SWEEP_EVERY_MS};
pub use stored_run::StoredRun;
pub use transcript::{ABANDONED_AGE_MS, TRANSCRIPT_MIGRATIONS, TranscriptStore};
