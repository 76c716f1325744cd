//! A run's durable form at each step, and the pure decision made by a process that reclaims it.
//!
//! [`encode()`] and [`pack()`] turn a conversation into writes, [`assemble()`] reads it back,
//! [`decide()`] decides on a reclaimed run, and a [`Settlement`] on each call that was in flight.
//!
//! The decisions rely on the caller's write order: the step's turns, then the record, and no call
//! before both are acknowledged. A run that continues although a step could not be stored marks its
//! state ([`RunState::unresumable`]) first, because a resume would repeat the later calls.
//!
//! A new owner becomes the transcript's owner before it reads, because the previous owner could
//! still write.
//!
//! Not here: the record for a run that does not resume (`ars_runs::closing_record`), and the wire.

mod assemble;
mod attempts;
mod decide;
mod encode;
mod pack;
mod row;
mod run_state;
mod settlement;

pub use crate::error::{EncodeError, Gap, Reason};
pub use assemble::{Assembled, assemble};
pub use attempts::{Attempts, MAX_ATTEMPTS};
pub use decide::{Decision, Resume, RunStep, decide, needs_transcript, system_of};
pub use encode::{Encoded, encode};
pub use pack::{Batch, pack};
pub use run_state::{RunState, StepEvents};
pub use settlement::{RERUN_SAFE, Settle, Settlement, fresh_note, outcomes, resumed_note};
