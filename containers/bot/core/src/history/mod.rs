//! Durable history of runs: what is written, when, and what happens when the store does not answer.

mod record;
mod writer;

pub use record::{COST, RunEnd, is_provisional, record};
pub use writer::{HistoryWriter, Provisional};
