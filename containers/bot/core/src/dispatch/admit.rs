//! Stage 4, admit (docs/reference/ingress.md#admission).
//! The message becomes a follow-up of the thread's live run, or claims the thread for a new run.
//!
//! Not here: the permission to steer and its delivery (`steer`), and the plan of a new run (`plan`).

use ars_bot_ports::{Notice, Refusal};
use ars_types::RefName;

use super::{
    authorize::AuthorizedRequest,
    plan::{RunPlan, plan_run},
    request::Stage,
    steer::Steering,
};
use crate::{
    context::RunContext,
    threads::{Claim, Work},
};

/// The result of admission.
pub(super) enum Admission {
    /// The request owns its thread.
    Claimed(Box<AdmittedRequest>),
    /// The message is a follow-up of a live run.
    Steered(Notice),
}

/// A request that owns its thread in this process.
pub(crate) struct AdmittedRequest {
    /// The claim of the thread.
    pub(crate) claim: Claim,
    /// The plan of its run.
    pub(crate) plan: RunPlan,
    /// The stages from admission on.
    pub(crate) stages: Vec<Stage>,
}

/// Steers the live run of the thread, or claims the thread.
///
/// Only a message that gets its own run needs a model and a repository, and the thread is claimed after both are
/// resolved, so that a refusal never occupies it.
pub(super) async fn admit(
    context: &RunContext,
    authorized: &AuthorizedRequest<'_>,
    steering: &Steering<'_>,
) -> Result<Admission, Refusal> {
    let thread = &authorized.request.message.thread_key;
    let choices = &authorized.parsed.choices;
    let started_at = context.clock().now();
    let (claim, plan) = loop {
        if let Some(notice) = steering.steer_local(context).await? {
            return Ok(Admission::Steered(notice));
        }
        let plan = match plan_run(context, thread, choices, &authorized.resolved).await {
            Ok(plan) => plan,
            Err(refusal) => {
                // Without a plan the ledger's claim is never attempted, which would report the owner.
                let steered = steering.steer_any_remote(context).await?;
                return steered.map(Admission::Steered).ok_or(refusal);
            }
        };
        let work = work(authorized, &plan);
        // `None` when another message claimed the thread concurrently, which is then steered.
        if let Ok(claim) = context.threads().claim(thread, work, context.clock().now()) {
            break (claim, plan);
        }
    };
    let ended_at = context.clock().now();
    let stages = vec![Stage { name: "dispatch.admission", started_at, ended_at }];
    Ok(Admission::Claimed(Box::new(AdmittedRequest { claim, plan, stages })))
}

/// Returns the facts that later messages of the thread are checked against.
fn work<'a>(authorized: &'a AuthorizedRequest<'_>, plan: &'a RunPlan) -> Work<'a> {
    let agent = authorized.resolved.agent;
    Work {
        agent: agent.name,
        repository: plan.repository().filter(|_| agent.needs_repository),
        git_ref: authorized.parsed.choices.git_ref.as_ref().map(RefName::as_str),
    }
}
