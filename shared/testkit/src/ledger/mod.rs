//! The live-run ledger as an executable model, and what drives a real store and the model side by side.
//!
//! - [`Operation`]: every request of the ledger, of finished runs as far as the ledger touches them, and of
//!   transcripts; [`sequences`] makes random ones.
//! - [`Model`]: what each must answer, from the specification alone: document 2 sections 2.4, 3.2, 3.3, 4.3 and
//!   state-worker supplement sections 5.3 to 5.5, 7 (the default policy), 9, 10.1; docs/decisions/0007. Plain maps, no SQL.
//! - [`play()`]: sends a sequence to a [`Subject`], with crashes, while an [`Observer`] watches; [`Twin`] is the
//!   observer that holds the subject to the model.
//!
//! Not here: subjects (the tests of `ars-runs` and of the Worker have theirs).

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
pub use payload::{Claim, Event, EventKind, Name, News, Part, Record, Step, Writer};
pub use play::{Action, Attempt, Moment, Observer, Outcome, Sequence, Subject, play};
pub use strategy::sequences;
pub use twin::Twin;
pub use world::World;
