//! What a run leaves behind at each step, and what a new process makes of it (document 2 sections 2.4 and 3.3,
//! state-worker supplement sections 9.5, 10.2 and 10.3).
//!
//! [`encode()`] and [`pack()`] turn a conversation into writes, [`assemble()`] reads it back, [`decide()`] says what becomes of
//! a run taken over, and a [`Settlement`] what becomes of each call that was under way. All of it is pure.
//!
//! The decisions rest on one order of writes, which the caller keeps: the step's turns first, its record second, and
//! no call before both are acknowledged. A run that goes on although a step could not be stored says so first, in its
//! state ([`RunState::unresumable`]), or a resume would repeat what it did since.
//!
//! A new owner sets itself as the transcript's owner before it reads it, or the one before could still write.
//!
//! Not here: the closing record of a run that does not go on (`ars_runs::closing_record`), and the wire.

mod assemble;
mod attempts;
mod decide;
mod encode;
mod pack;
mod row;
mod run_state;
mod settlement;

pub use assemble::{Assembled, Gap, assemble};
pub use attempts::{Attempts, MAX_ATTEMPTS};
pub use decide::{Decision, Reason, Resume, RunStep, decide, needs_transcript, system_of};
pub use encode::{EncodeError, Encoded, encode};
pub use pack::{Batch, pack};
pub use run_state::{RunState, StepEvents};
pub use settlement::{RERUN_SAFE, Settle, Settlement, fresh_note, outcomes, resumed_note};
