//! Reflection: extracts records from an ended run (docs/reference/memory.md#in-a-run).
//!
//! In order: [`Ended::is_worth_reflecting`], [`request`] for a model, [`Findings::read`] for the
//! answer,
//! [`Findings::without_restated`], [`place()`]. For any answer, the result stays within the store's
//! limits and the run's scopes, and replaces only records that the model was shown. Not here: the
//! call and the writes.

mod findings;
mod gate;
mod place;
mod prompt;
mod restated;

pub use findings::{Fact, Findings};
pub use gate::Ended;
pub use place::{Batch, Origin, place};
pub use prompt::{MAX_SHOWN, Speaker, Utterance, request, system};
