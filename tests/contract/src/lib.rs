//! The state Worker's contract (document 2 sections 4.2, 4.3, 5, 7, 8; state-worker supplement 1 to 10.1) as tables of
//! cases, and two subjects that must answer them alike: the stores in this process, and the built Worker on workerd.
//!
//! A [`Table`] holds the cases of one route. [`answers`] asks them of a [`Subject`] and writes down what it said, in a
//! form that is the same on every run; `tests/contract` holds one snapshot of that a route against both subjects.
//! Not here: durability, concurrency and size (`tests/workerd`), and what only a store's insides show (`shared/`).
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

pub use ask::answers;
pub use case::{Case, Draft, Table};
pub use manners::of_any_path;
pub use subject::{Answer, Length, Native, Sent, Subject, TOKEN, Workerd};

/// What no refusal may repeat: cases put it where something else belongs.
pub const WRONG: &str = "hunter2 hunter2";
