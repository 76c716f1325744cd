//! What a finished run leaves in memory (document 2 section 2.2, state-worker supplement section 12, rows "reflection"
//! to "origin gate").
//!
//! In order: [`Ended::is_worth_reflecting`], [`request`] for a model, [`Findings::read`] of what it answers,
//! [`Findings::without_restated`], [`place()`]. Whatever the model answers, what comes out is within the store's limits,
//! within the scopes the run had, and replaces nothing that the model was not shown. Not here: the call and the writes
//! (the bot's).

mod findings;
mod gate;
mod place;
mod prompt;
mod restated;

pub use findings::{Fact, Findings};
pub use gate::Ended;
pub use place::{Batch, Origin, place};
pub use prompt::{MAX_SHOWN, Said, Speaker, request, system};
