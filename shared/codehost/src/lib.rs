//! Decisions and texts for a code host (docs/reference/code-host.md).
//! Repositories in a request, pull requests, diffs, reviews, issues about friction, credentials, answers, webhooks.
//!
//! Pure: no clock, no I/O, no HTTP client. Decisions are values, so a crash at any step can be replayed in a test.
//! Text that no person wrote is neutralised before it is posted. Not here: the adapter that calls the host.
#![forbid(unsafe_code)]

pub mod answer;
pub mod app;
pub mod diff;
pub mod proposals;
pub mod pull_request;
pub mod resolve;
pub mod review;
pub mod text;
pub mod webhook;

mod branch;
#[cfg(test)]
mod faults;
mod host;

pub use branch::{branch_name, run_of_branch};
pub use host::{Host, parse_slug};
pub use text::code_spans;
