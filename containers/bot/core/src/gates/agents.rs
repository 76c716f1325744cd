//! The gate on agents (docs/reference/configuration.md#policy).

use ars_auth::{Actor, can_run_agent};
use ars_bot_ports::Refusal;
use ars_bot_tools::agents::AgentSpec;

use crate::context::settings::Settings;

/// Checks whether the actor may run the agent.
pub(crate) fn authorize_agent(
    agent: &AgentSpec,
    actor: &Actor,
    settings: &Settings,
) -> Result<(), Refusal> {
    can_run_agent(actor, &settings.restrictions, agent.name).map_err(|_| Refusal::AgentForbidden {
        agent: agent.name.to_owned(),
    })
}
