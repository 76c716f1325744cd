//! A request between the stages: each stage's result, and the text and settings that decide it.
//!
//! Not here: the stages' order, and the claims of thread and run (`dispatch`).

mod admitted;
mod claimed;
pub mod directives;
mod incoming;
mod parse;
mod plan;
mod queued;
mod resolve;
mod stages;
mod text_repository;

pub(crate) use admitted::AdmittedRequest;
pub(crate) use claimed::{ClaimedRun, DispatchedRun};
pub(crate) use directives::ParsedDirectives;
pub(crate) use incoming::Request;
pub(crate) use parse::{ParsedRequest, parse, recent};
pub(crate) use plan::{RunPlan, plan_run};
pub(crate) use queued::{PlannedRequest, plan_queued};
pub(crate) use resolve::{ActiveScopes, ResolvedRequest, resolve};
pub(crate) use stages::{Stage, Stages};
