//! The channel-agnostic core: `Core::dispatch(message, io)`, the run registry, and a run's life.
//!
//! Not here: HTTP, chat, vendor APIs, files and processes. Those are adapters behind
//! `ars-bot-ports`.
#![forbid(unsafe_code)]

mod abridge;
mod attachments;
mod background;
mod claims;
pub mod commands;
mod context;
mod day_spend;
mod dispatch;
mod error;
mod facade;
mod gates;
pub mod history;
mod lifecycle;
mod limits;
pub mod live;
pub mod memory;
pub mod queries;
pub mod registry;
mod request;
pub mod retry;
mod run;
pub mod threads;
pub mod time;

pub use background::{PullRequestFollower, Scheduler};
pub use context::{Capabilities, Deps, LedgerDeps, overrides, settings};
pub use dispatch::Amended;
pub use error::{ChangeError, LoadError};
pub use facade::{Core, DRAIN_DEADLINE, FollowUpError, Load};
pub use limits::load_limits;
pub use request::directives;
