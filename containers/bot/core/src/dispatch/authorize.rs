//! Stage 3, authorize: the resolved agent's gate (docs/reference/configuration.md#policy).
//!
//! The repository's gate follows once it is resolved (`repositories`).

use ars_auth::{Actor, can_run_agent};
use ars_bot_ports::Refusal;
use ars_bot_tools::agents::AgentSpec;

use super::{parse::ParsedRequest, request::Request, resolve::ResolvedRequest};
use crate::{context::RunContext, settings::Settings};

/// An authorized request: its requester may run the resolved agent.
pub(super) struct AuthorizedRequest<'a> {
    pub(super) request: &'a Request,
    /// The parsed request text.
    pub(super) parsed: &'a ParsedRequest,
    /// The requester and agent.
    pub(super) resolved: ResolvedRequest,
}

/// Checks the agent's gate.
pub(super) fn authorize<'a>(
    context: &RunContext,
    request: &'a Request,
    parsed: &'a ParsedRequest,
    resolved: ResolvedRequest,
) -> Result<AuthorizedRequest<'a>, Refusal> {
    authorize_agent(resolved.agent, &resolved.actor, context.settings())?;
    Ok(AuthorizedRequest {
        request,
        parsed,
        resolved,
    })
}

/// Checks whether the actor may run the agent.
pub(super) fn authorize_agent(
    agent: &AgentSpec,
    actor: &Actor,
    settings: &Settings,
) -> Result<(), Refusal> {
    can_run_agent(actor, &settings.restrictions, agent.name).map_err(|_| Refusal::AgentForbidden {
        agent: agent.name.to_owned(),
    })
}
