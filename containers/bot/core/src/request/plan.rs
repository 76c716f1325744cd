//! Plans a new run: model, effort and repository (docs/reference/ingress.md#resolution).

use std::sync::Arc;

use ars_auth::Actor;
use ars_bot_ports::{Choices, ModelClient, Refusal, Repository};
use ars_bot_tools::agents::AgentSpec;
use ars_codehost::Host;
use ars_types::{Effort, ModelRef, ThreadKey};

use super::{
    parse::ParsedRequest,
    resolve::{ActiveScopes, ResolvedRequest},
    text_repository::RequestText,
};
use crate::{
    context::{RunContext, settings::Settings},
    gates::{find, resolve_repository},
};

/// A new run's model, effort and repository.
pub(crate) struct RunPlan {
    /// Model, effort and repository choices.
    pub(crate) choice: PlannedChoice,
    /// Client for the chosen model.
    pub(crate) client: Arc<dyn ModelClient>,
    /// The thread's own repository.
    pub(crate) own: Option<Repository>,
}

/// The plan's part that settings decide.
#[derive(Debug, Clone)]
pub(crate) struct PlannedChoice {
    pub(crate) model: ModelRef,
    /// The model's effort.
    pub(crate) effort: Option<Effort>,
    /// The requested or configured repository. `None` means the thread's own.
    pub(crate) repository: Option<Repository>,
}

impl RunPlan {
    /// Returns the repository that the request concerns, whether the agent works on it or not.
    pub(crate) fn repository(&self) -> Option<&str> {
        self.choice
            .repository
            .as_ref()
            .or(self.own.as_ref())
            .map(|repository| repository.name.as_str())
    }
}

/// Plans a run for a free thread.
/// The thread's own repository is read here and not earlier, because the thread's previous run may have created it.
pub(crate) async fn plan_run(
    context: &RunContext,
    thread: &ThreadKey,
    parsed: &ParsedRequest,
    resolved: &ResolvedRequest,
) -> Result<RunPlan, Refusal> {
    let deps = context.deps();
    let own = deps
        .workspaces
        .repository_of(thread)
        .await
        .map_err(|error| {
            tracing::warn!(error = %error, "workspace not ready");
            Refusal::WorkspaceNotReady(error)
        })?;
    let ResolvedRequest {
        actor,
        scopes,
        agent,
    } = resolved;
    let choices = with_text(context, parsed, resolved, own.as_ref()).await?;
    let choice = plan(&choices, scopes, actor, agent, &deps.settings, own.as_ref())?;
    let client = deps
        .models
        .client(&choice.model)
        .map_err(Refusal::UnknownProvider)?;
    Ok(RunPlan {
        choice,
        client,
        own,
    })
}

/// Returns the choices, with the repository that the text names if the request chooses none.
async fn with_text(
    context: &RunContext,
    parsed: &ParsedRequest,
    resolved: &ResolvedRequest,
    own: Option<&Repository>,
) -> Result<Choices, Refusal> {
    let mut choices = parsed.choices.clone();
    if !resolved.agent.needs_repository || parsed.chooses_repository {
        return Ok(choices);
    }
    let (actor, settings) = (&resolved.actor, context.settings());
    let earlier = choices
        .repository
        .as_deref()
        .and_then(|name| find(name, actor, settings));
    let host = context.deps().capabilities.code_host.as_deref();
    let host = host.map_or_else(Host::default, |host| host.host().clone());
    let thread = own.or(earlier.as_ref());
    let text = RequestText {
        text: &parsed.directives.text,
        thread,
        host: &host,
        actor,
        settings,
    };
    let listings = context.onboarded().look_up(&text.unlisted()).await;
    if let Some(named) = text.repository(&listings)? {
        choices.repository = Some(named);
    }
    Ok(choices)
}

/// Resolves model, effort and repository, and checks the repository's gate.
pub(super) fn plan(
    choices: &Choices,
    scopes: &ActiveScopes,
    actor: &Actor,
    agent: &AgentSpec,
    settings: &Settings,
    own: Option<&Repository>,
) -> Result<PlannedChoice, Refusal> {
    let layers = scopes.layers(choices, settings);
    let model = layers.model(agent.name).cloned().ok_or(Refusal::NoModel)?;
    let effort = layers.effort(agent.name, agent.effort);
    let named = choices.repository.as_deref();
    let repository = match agent.needs_repository {
        true => resolve_repository(named, actor, settings, own)?,
        false => None,
    };
    Ok(PlannedChoice {
        model,
        effort,
        repository,
    })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "restricted_tests.rs"]
mod restricted_tests;
