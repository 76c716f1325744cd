//! Every port of the stores, over one transport of JSON texts.
//!
//! Answers are not trusted: a malformed one is an error. A conflict is a result. Ids and keys are validated types, so
//! an invalid one never leaves the process. Not here: the byte budget of records (`ars_runs::budget`).

mod config;
mod flush;
mod friction;
mod ledger;
mod memory;
mod requests;
mod runs;
mod schedules;
mod stop_actor;
mod transcript;

use super::{failure::malformed, transport::Transport};
pub use requests::{Client, Proposal};
use requests::{parse, unexpected};
