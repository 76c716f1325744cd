//! Run history: the record, its byte budget, its retention, and its store over the storage port.
//!
//! The same code is the embedded store of the bot and the inside of the run-store Durable Object.
//! Not here: connections, HTTP, clocks. Implements document 2 sections 2.3, 3.2, 4.3 and state-worker
//! supplement sections 5 to 8.1.
#![forbid(unsafe_code)]

pub mod budget;
pub mod diagnosis;
pub mod json;
pub mod retention;
pub mod visible_to;

mod acceptance;
mod record;
mod refusal;
mod store;

pub use record::{RunRecord, SCHEMA_WITH_SPANS};
pub use refusal::{Refusal, StoreFailure};
pub use store::{MIGRATIONS, RunStore, SWEEP_EVERY_MS, store_key_of};
