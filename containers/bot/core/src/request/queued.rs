//! The stages for a request that waited for a slot in a process that ended.
//!
//! Its run and thread are claimed.

use ars_bot_ports::Refusal;

use super::{
    incoming::Request,
    parse::{ParsedRequest, parse},
    plan::{RunPlan, plan_run},
    resolve::{ResolvedRequest, resolve},
};
use crate::{context::RunContext, gates::authorize_agent};

/// A request that passed the stages before the claim.
pub(crate) struct PlannedRequest {
    pub(crate) parsed: ParsedRequest,
    pub(crate) resolved: ResolvedRequest,
    pub(crate) plan: RunPlan,
}

/// Parses, resolves, authorizes and plans, with this process's configuration.
pub(crate) async fn plan_queued(
    context: &RunContext,
    request: &Request,
) -> Result<PlannedRequest, Refusal> {
    let parsed = parse(context, request).await?;
    let resolved = resolve(context, request, &parsed)?;
    authorize_agent(resolved.agent, &resolved.actor, context.settings())?;
    let plan = plan_run(context, &request.message.thread_key, &parsed, &resolved).await?;
    Ok(PlannedRequest {
        parsed,
        resolved,
        plan,
    })
}
