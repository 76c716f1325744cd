//! Every store port, over a single transport for JSON texts.
//!
//! Responses are not trusted: a malformed response is an error. A conflict is a result. Ids and
//! keys are validated types, so an invalid value never leaves the process. Not here: the records'
//! byte budget (`ars_runs::budget`).

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
