//! The status card of a run: a message that grows or is edited while the run goes on.
//!
//! A card is a pure function of the run's events and the time. A block, or a task of a stream, carries the run's id, so
//! a later process recognizes it in the thread. Not here: when it is sent.

mod checklist;
mod figures;
mod found;
mod frame;
mod glyph;
mod plan;
mod state;

pub use found::{interrupt, is_card, is_live, is_stream, run_of_card};
pub use frame::{CARD_PREFIX, Frame, STOP_ACTION, closing_frame, frame};
pub use plan::{Plan, changed, plan};
pub use state::{CardHead, CardOutcome, CardState};
