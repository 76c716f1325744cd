//! The channel-agnostic core: `dispatch(deps, msg, io)`, the run registry, the tools, and the ports they need.
//!
//! Not here: HTTP, chat, vendor APIs, files and processes; those are adapters behind `ports`.
//! Implements document 1 sections 1, 2.1, 6 and bot supplement sections 9 to 15.
#![forbid(unsafe_code)]

mod abandoned;
pub mod agents;
mod capabilities;
mod closing;
mod conclude;
mod day_spend;
mod dispatch;
pub mod history;
pub mod instructions;
mod leftovers;
pub mod live;
pub mod memory;
pub mod message;
pub mod metrics;
pub mod overrides;
pub mod ports;
pub mod registry;
mod resume;
pub mod retry;
pub mod review;
mod run;
mod service;
pub mod settings;
mod stopping;
pub mod threads;
pub mod tools;
pub mod trace;

pub use capabilities::{Capabilities, LedgerDeps};
pub use dispatch::directives;
pub use service::{Core, DRAIN_DEADLINE, Deps, Load};
