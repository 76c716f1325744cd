//! Test doubles for the bot's ports, each once.
//!
//! For tests only: no deployed crate depends on it. Not here: doubles for what lies behind an
//! adapter (`ars-testkit`).
#![forbid(unsafe_code)]

mod channel;
mod documents;

pub use channel::{ChannelRecord, RecordingChannel, ReopenedChannel};
pub use documents::MemoryDocuments;
