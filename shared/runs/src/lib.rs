//! Run history: the record, its retention, and its store over the storage port.
//!
//! The same code is the embedded store of the bot and the inside of the run-store Durable Object.
//! Not here: connections, HTTP, clocks. Implements document 2 sections 2.3, 3.2, 4.3 and state-worker
//! supplement sections 5 to 7.
#![forbid(unsafe_code)]

mod record;

pub use record::RunRecord;
