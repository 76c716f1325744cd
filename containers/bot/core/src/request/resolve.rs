//! Stage 2, resolve: the requester with configured grants, the scopes in force, and the agent.
//!
//! Precedence, highest first: choices made outside the text, directives, the thread, the
//! configuration, the agent (docs/reference/ingress.md#resolution). A message for a live run needs
//! only the agent, so model and repository are resolved when the thread is claimed (`plan`).

use ars_auth::Actor;
use ars_bot_ports::{Choices, Refusal};
use ars_bot_tools::agents::{self, AgentSpec, DEFAULT_AGENT};
use ars_settings::{Choice, Defaults, Layers, Scope, Target};

use super::{incoming::Request, parse::ParsedRequest};
use crate::context::{RunContext, overrides::Overrides, settings::Settings};

/// A request's requester and agent.
pub(crate) struct ResolvedRequest {
    /// The requester as a person, with the configured grants.
    pub(crate) actor: Actor,
    /// The scopes in force.
    pub(crate) scopes: ActiveScopes,
    pub(crate) agent: &'static AgentSpec,
}

/// A user's and a channel's configuration and overrides.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActiveScopes {
    pub(crate) user: Scope,
    pub(crate) channel: Scope,
}

impl ActiveScopes {
    fn effective(
        settings: &Settings,
        overrides: &ars_settings::Scopes,
        user: &str,
        channel: &str,
    ) -> Self {
        let effective = |target| settings.scopes.effective(overrides, target);
        Self {
            user: effective(Target::User(user)),
            channel: effective(Target::Channel(channel)),
        }
    }

    /// Returns the setting layers that resolve a request's choices.
    pub(super) fn layers<'a>(&'a self, choices: &'a Choices, settings: &'a Settings) -> Layers<'a> {
        let directive = Choice {
            agent: choices.agent.as_deref(),
            model: choices.model.as_ref(),
            effort: choices.effort,
        };
        let defaults = Defaults {
            agent: settings.default_agent.as_deref(),
            model: settings.default_model.as_ref(),
            models: &settings.models,
            efforts: &settings.efforts,
        };
        Layers {
            directive,
            thread: Choice::default(),
            user: &self.user,
            channel: &self.channel,
            defaults,
        }
    }
}

/// Resolves the requester's grants and the agent.
pub(crate) fn resolve(
    context: &RunContext,
    request: &Request,
    parsed: &ParsedRequest,
) -> Result<ResolvedRequest, Refusal> {
    let deps = context.deps();
    let actor = deps.settings.identify(&request.message.actor);
    let overrides = deps
        .capabilities
        .overrides
        .as_ref()
        .map(Overrides::current)
        .unwrap_or_default();
    let scopes = ActiveScopes::effective(
        &deps.settings,
        &overrides,
        actor.main_account(),
        &request.message.channel_id,
    );
    let agent = resolve_agent(&parsed.choices, &scopes, &deps.settings)?;
    Ok(ResolvedRequest {
        actor,
        scopes,
        agent,
    })
}

/// Returns the agent for these choices.
pub(super) fn resolve_agent(
    choices: &Choices,
    scopes: &ActiveScopes,
    settings: &Settings,
) -> Result<&'static AgentSpec, Refusal> {
    let layers = scopes.layers(choices, settings);
    let name = layers.agent().unwrap_or(DEFAULT_AGENT);
    agents::find(name).ok_or_else(|| Refusal::UnknownAgent {
        known: agents::names(),
    })
}
