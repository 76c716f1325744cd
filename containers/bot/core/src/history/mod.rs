//! Durable run history: which records are written, when, and with which retries.

mod checkpoint;
mod off;
pub(crate) mod own_pulls;
mod record;
mod writer;

pub use ars_runs::{COST, REFLECTION_COST};

pub(crate) use checkpoint::add_checkpoint;

pub use off::NoHistory;
pub use record::{RunTotals, is_provisional, record};
pub use writer::{FinalRecord, HistoryWriter, Provisional};
