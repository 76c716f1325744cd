//! The channel-agnostic core: `dispatch(deps, msg, io)`, the run registry, and the life of a run.
//!
//! Not here: HTTP, chat, vendor APIs, files and processes. Those are adapters behind `ars-bot-ports`.
#![forbid(unsafe_code)]

mod abandoned;
mod capabilities;
mod closing;
mod conclude;
mod day_spend;
mod dispatch;
pub mod history;
mod leftovers;
pub mod live;
pub mod memory;
pub mod overrides;
pub mod registry;
mod resume;
pub mod retry;
mod run;
mod service;
pub mod settings;
mod stopping;
pub mod threads;

pub use capabilities::{Capabilities, LedgerDeps};
pub use dispatch::directives;
pub use service::{Core, DRAIN_DEADLINE, Deps, Load};
