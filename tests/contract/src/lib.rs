//! Two subjects for the state Worker's contract (docs/reference/state-worker.md#routes). They are
//! the stores in this process, and the built Worker on workerd.
//!
//! Not here: durability, concurrency and memory use (`tests/workerd`), and a store's rules
//! (`shared/`).
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    reason = "test support: what cannot go on fails the test"
)]

pub mod records;

mod subject;

pub use subject::{Answer, Length, Native, Sent, Subject, TOKEN, Workerd, now};

/// A value that refusals must not repeat. Tests send it in place of a valid value.
pub const WRONG: &str = "hunter2 hunter2";
