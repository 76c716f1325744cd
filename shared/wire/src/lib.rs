//! The contract between processes: every JSON body, route and error code that crosses a boundary.
//!
//! Both sides import it, so a change here changes the contract. Not here: validation beyond shape (the stores) and
//! events (`ars-events`).
#![forbid(unsafe_code)]

pub mod admin;
pub mod api;
pub mod config;
pub mod friction;
pub mod health;
pub mod idempotency;
pub mod ingress;
pub mod ledger;
pub mod mcp;
pub mod memory;
pub mod runs;
pub mod schedules;
pub mod state;
pub mod transcript;

mod error_code;
mod millis;
mod moment;
mod whole;

pub use error_code::ErrorCode;
pub use moment::Moment;
