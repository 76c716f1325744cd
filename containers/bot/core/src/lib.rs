//! The channel-agnostic core: `Core::dispatch(message, io)`, the run registry, and a run's life.
//!
//! Not here: HTTP, chat, vendor APIs, files and processes. Those are adapters behind
//! `ars-bot-ports`.
#![forbid(unsafe_code)]

mod abridge;
mod abridge_jobs;
mod capabilities;
pub mod commands;
mod context;
mod day_spend;
mod dispatch;
mod error;
mod facade;
pub mod history;
mod in_flight;
mod lifecycle;
pub mod live;
pub mod load_limits;
pub mod memory;
mod onboarded;
pub mod overrides;
mod own_pulls;
mod own_schedules;
mod pull_ends;
pub mod queries;
pub mod registry;
pub mod retry;
mod review_claims;
mod run;
mod schedules;
pub mod settings;
mod slots;
mod stopping;
pub mod threads;
pub mod time;
mod unread;
mod work_claims;

pub use capabilities::{Capabilities, LedgerDeps};
pub use context::Deps;
pub use dispatch::{FollowUpError, directives};
pub use error::{ChangeError, LoadError};
pub use facade::{Core, DRAIN_DEADLINE, Load};
pub use pull_ends::PullRequestFollower;
pub use schedules::Scheduler;
