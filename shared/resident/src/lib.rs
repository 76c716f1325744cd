//! Decisions about residents: repository environments that are kept warm between runs.
//!
//! Pure: no clock and no I/O. The lifecycle state machine, admission rules, and each operation's
//! plan as data. Not here: the objects that store the state, and the daemon in the container that
//! runs the plans.
#![forbid(unsafe_code)]

pub mod daemon;
pub mod detect;
pub mod disk;
pub mod document;
pub mod layout;
pub mod lifecycle;
pub mod names;
pub mod output;
pub mod plan;
pub mod pool;
pub mod refusal;
pub mod registry;
pub mod saved_work;
pub mod snapshot;
mod sorted;
pub mod thread;
pub mod wire;
