//! Dispatches requests (docs/reference/ingress.md#stages).
//!
//! A request becomes a command's answer, a run, a live run's follow-up, or a refusal.

mod admit;
mod authorize;
mod command;
mod command_run;
mod pipeline;
mod start;
mod steer;

pub(crate) use pipeline::{count, dispatch, serve_requeued};
pub(crate) use steer::Steering;
