//! Runs, finished and live: the record, its byte budget, its retention; the store of records, the ledger of live
//! runs and their transcripts over the storage port.
//!
//! The same code is the embedded store of the bot and the inside of the run-store Durable Object.
//! Not here: connections, HTTP, clocks. Implements document 2 sections 2.3, 2.4, 3.2, 3.3, 4.3
//! and state-worker supplement sections 5 to 8.1, 9 and 10.1.
#![forbid(unsafe_code)]

pub mod budget;
pub mod retention;
pub mod visible_to;

mod acceptance;
mod closing;
mod ledger;
mod plain;
mod record;
mod store;
mod transcript;

pub use ars_friction::records::diagnosis;
pub use closing::{Closing, closing_record};
pub use record::{COST, HELD, REFLECTION_COST, RunRecord, SCHEMA_WITH_SPANS};
pub use store::{MIGRATIONS, RunStore, SWEEP_EVERY_MS};
pub use transcript::{TRANSCRIPT_MIGRATIONS, TranscriptStore};
