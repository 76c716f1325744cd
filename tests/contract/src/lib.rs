//! The state Worker's contract (docs/reference/state-worker.md#routes) as tables of cases, and two subjects that must
//! answer them alike: the stores in this process, and the built Worker on workerd.
//!
//! A [`Table`] holds the cases of one route. [`answers`] runs them against a [`Subject`] and renders the answers in a
//! reproducible form. `tests/contract` compares one snapshot per route with both subjects. Not here: durability,
//! concurrency and size (`tests/workerd`), and properties that only the inside of a store shows (`shared/`).
#![forbid(unsafe_code)]
#![expect(clippy::expect_used, reason = "test support: what cannot go on fails the test")]
#![expect(clippy::needless_pass_by_value, reason = "bodies are built inside one another")]

pub mod records;

mod ask;
mod case;
mod layout;
mod manners;
mod redact;
mod sheet;
mod subject;

pub use ask::{Answers, answers};
pub use case::{Case, Draft, Table};
pub use manners::of_any_path;
pub use subject::{Answer, Length, Native, Sent, Subject, TOKEN, Workerd};

/// A value that refusals must not repeat. Cases send it in place of a valid one.
pub const WRONG: &str = "hunter2 hunter2";
