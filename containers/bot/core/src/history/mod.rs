//! Durable history of runs: what is written, when, and what happens when the store does not answer.

mod record;
mod writer;

pub use ars_runs::{COST, REFLECTION_COST};

pub use record::{RunEnd, is_provisional, record};
pub(crate) use writer::MAKE_UP_FOR;
pub use writer::{Final, Finished, HistoryWriter, Provisional};
