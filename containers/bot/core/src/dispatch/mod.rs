//! Dispatches requests (docs/reference/ingress.md#stages).
//!
//! A request becomes a command's answer, a run, a live run's follow-up, or a refusal.

mod admit;
mod authorize;
mod code_host;
mod command;
mod command_run;
pub mod directives;
mod follow_up;
mod origin;
mod parse;
mod pipeline;
mod plan;
mod queued;
mod repositories;
mod request;
mod resolve;
mod stages;
mod start;
mod steer;
mod text_repository;

pub(crate) use admit::AdmittedRequest;
pub(crate) use code_host::{code_host_of, code_host_of_user};
pub use follow_up::FollowUpError;
pub(crate) use origin::is_same as is_same_place;
pub(crate) use parse::{ParsedRequest, recent};
pub(crate) use pipeline::{dispatch, serve_requeued};
pub(crate) use plan::RunPlan;
pub(crate) use queued::{PlannedRequest, plan_queued};
pub(crate) use repositories::{authorize_name, configured_place};
pub(crate) use request::Request;
pub(crate) use resolve::{ActiveScopes, ResolvedRequest};
pub(crate) use stages::Stages;
pub(crate) use start::{ClaimedRun, DispatchedRun};
