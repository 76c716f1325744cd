//! A run's end as a sans-IO state machine: `step(input, now) -> actions`.
//!
//! The caller performs the actions in order. A list contains at most one [`Operation`], always
//! last; the caller feeds the answer back. [`Input::FencedOut`] and [`Input::ShutdownRequested`]
//! may arrive at any time. Where they change the course, the returned actions replace the operation
//! in progress; otherwise the list is empty and the caller keeps waiting. An input that the current
//! state does not expect, such as a repeated answer, has no effect.
//!
//! Not here: the loop that precedes the end (`Loop`), and every effect (`ars-bot-core` performs the
//! actions).

mod machine;
mod protocol;
mod tombstone;

pub use machine::{RunEnd, recorded_status};
pub use protocol::{
    Action, FLUSH_BACKOFF, FLUSH_TIMEOUT, FinalFlush, FollowUps, Input, LedgerKnowledge, Operation,
    RECORD_BACKOFF, RECORD_RETRY_TIMEOUT, RecordWrite, ReplyPermit,
};
pub use tombstone::{Stage, Tombstone};
