//! Dispatches requests (docs/reference/ingress.md#stages).
//!
//! A request becomes a command's answer, a run, a live run's follow-up, or a refusal.

mod admit;
mod amend;
mod authorize;
mod command;
mod command_run;
mod pipeline;
mod start;
mod steer;

pub use amend::Amended;
pub(crate) use amend::amend;
pub(crate) use pipeline::{count, dispatch, serve_requeued};
pub(crate) use steer::Steering;
