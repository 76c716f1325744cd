//! The live-run ledger as an executable model, and a driver for a store and the model side by side.
//!
//! - [`Operation`]: every ledger and transcript request, and those finished-run requests that
//!   affect the ledger. [`sequences`] generates random ones.
//! - [`Model`]: the required responses, derived from the contract alone
//!   (docs/reference/ledger.md#operations, docs/reference/state-worker.md#run-history,
//!   docs/decisions/0007). Plain maps, no SQL.
//! - [`play()`]: sends a sequence to a [`Subject`], with crashes, while an [`Observer`] checks it.
//!   [`Twin`] is the observer that compares the subject with the model.
//!
//! Not here: subjects (the tests for `ars-runs` and for the Worker have theirs).

mod expected;
mod model;
mod operation;
mod payload;
mod play;
mod strategy;
mod twin;
mod world;

pub use expected::Expected;
pub use model::Model;
pub use operation::Operation;
pub use payload::{Claim, Event, EventKind, Name, Part, Record, RunFlush, Step, Writer};
pub use play::{Action, Attempt, Moment, Observer, Outcome, Sequence, Subject, play};
pub use strategy::sequences;
pub use twin::Twin;
pub use world::World;
