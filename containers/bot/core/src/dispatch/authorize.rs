//! Stage 3, authorize: the resolved agent's gate (docs/reference/configuration.md#policy).
//!
//! The repository's gate follows once it is resolved (`gates`).

use ars_bot_ports::Refusal;

use crate::{
    context::RunContext,
    gates::authorize_agent,
    request::{ParsedRequest, Request, ResolvedRequest},
};

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
