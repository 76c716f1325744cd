//! What a request resolves to: agent, model, effort and repository (bot supplement section 12.3).
//!
//! Pure: every refusal is a sentence for the requester. Order of precedence, highest first: choices made outside
//! the text, directives, the thread, the configuration, the agent.

use ars_auth::{Actor, can_run_agent, can_use_repo};
use ars_settings::{Choice, Defaults, Layers, Scope, Target};
use ars_types::{Effort, ModelRef, RefName};

use super::origin;
use crate::{
    agents::{self, AgentSpec, DEFAULT_AGENT},
    message::Choices,
    ports::Repository,
    settings::Settings,
};

/// The machine's own user at the command line; no token map entry can yield this id.
const LOCAL_USER: &str = "cli:local";

/// What will run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The agent.
    pub agent: &'static AgentSpec,
    /// The model.
    pub model: ModelRef,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// The repository the request or the configuration names; the thread's own when absent.
    pub repository: Option<Repository>,
    /// The ref it names.
    pub git_ref: Option<RefName>,
}

/// Fills what `over` leaves open from `under`.
pub fn merge(over: Choices, under: Choices) -> Choices {
    Choices {
        agent: over.agent.or(under.agent),
        model: over.model.or(under.model),
        effort: over.effort.or(under.effort),
        repository: over.repository.or(under.repository),
        git_ref: over.git_ref.or(under.git_ref),
    }
}

/// What configuration and overrides say of whoever asks and of where it is asked.
#[derive(Debug, Clone, Default)]
pub struct Scopes {
    /// The user's.
    pub user: Scope,
    /// The channel's.
    pub channel: Scope,
}

impl Scopes {
    /// Those in force for a user in a channel.
    pub fn of(settings: &Settings, overrides: &ars_settings::Scopes, user: &str, channel: &str) -> Self {
        let effective = |target| settings.scopes.effective(overrides, target);
        Self { user: effective(Target::User(user)), channel: effective(Target::Channel(channel)) }
    }
}

/// Resolves a request, asking the permission gates on what it resolved to. `choices` are the request's, filled up with
/// the thread's.
pub fn resolve(
    choices: Choices,
    scopes: &Scopes,
    actor: &Actor,
    settings: &Settings,
    thread_repository: Option<&Repository>,
) -> Result<Plan, String> {
    let directive =
        Choice { agent: choices.agent.as_deref(), model: choices.model.as_ref(), effort: choices.effort };
    let defaults = Defaults {
        agent: settings.default_agent.as_deref(),
        model: settings.default_model.as_ref(),
        models: &settings.models,
        efforts: &settings.efforts,
    };
    let (user, channel) = (&scopes.user, &scopes.channel);
    let layers = Layers { directive, thread: Choice::default(), user, channel, defaults };
    let agent = resolve_agent(layers.agent())?;
    can_run_agent(actor, &settings.restrictions, agent.name)
        .map_err(|_| format!("you may not run the {} agent here.", agent.name))?;
    let model = layers.model(agent.name).cloned().ok_or(
            "no model is configured. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model in the configuration.",
        )?;
    let effort = layers.effort(agent.name, agent.effort);
    let repository = if agent.needs_repository {
        resolve_repository(choices.repository.as_deref(), actor, settings, thread_repository)?
    } else {
        None
    };
    Ok(Plan { agent, model, effort, repository, git_ref: choices.git_ref })
}

fn resolve_agent(named: Option<&str>) -> Result<&'static AgentSpec, String> {
    let name = named.unwrap_or(DEFAULT_AGENT);
    agents::find(name).ok_or_else(|| format!("there is no such agent. The agents are: {}.", agents::names()))
}

/// `None` means the thread's own repository, which passed the gate when the thread got it and passes it again.
fn resolve_repository(
    named: Option<&str>,
    actor: &Actor,
    settings: &Settings,
    thread_repository: Option<&Repository>,
) -> Result<Option<Repository>, String> {
    let repository = match (named, thread_repository) {
        (Some(named), _) => configured(named, settings).or_else(|| direct(named, actor, settings)),
        (None, Some(own)) => return allowed(actor, settings, own).map(|()| None),
        (None, None) => settings.default_repository.as_deref().and_then(|name| configured(name, settings)),
    };
    let Some(repository) = repository else {
        let known: Vec<_> = settings.repositories.iter().map(|repository| repository.name.as_str()).collect();
        let lead = if named.is_some() { "that repository is not known here" } else { "which repository?" };
        return Err(match known.as_slice() {
            [] => format!("{lead} No repository is configured."),
            known => format!("{lead} Name one with `repo:<name>`. Known here: {}.", known.join(", ")),
        });
    };
    allowed(actor, settings, &repository)?;
    Ok(Some(repository))
}

/// Asks the gate by every name that the repository's place has: one that is closed stays closed under all of them.
fn allowed(actor: &Actor, settings: &Settings, repository: &Repository) -> Result<(), String> {
    let others =
        settings.repositories.iter().filter(|other| origin::is_same(&other.origin, &repository.origin));
    others.chain([repository]).try_for_each(|one| by_name(actor, settings, &one.name))
}

/// Asks the gate of a repository that is known by its name.
pub fn may_use(actor: &Actor, settings: &Settings, name: &str) -> Result<(), String> {
    match configured(name, settings) {
        Some(repository) => allowed(actor, settings, &repository),
        None => by_name(actor, settings, name),
    }
}

fn by_name(actor: &Actor, settings: &Settings, repository: &str) -> Result<(), String> {
    can_use_repo(actor, &settings.restrictions, repository)
        .map_err(|_| "you may not use that repository here.".to_owned())
}

fn configured(name: &str, settings: &Settings) -> Option<Repository> {
    settings.repositories.iter().find(|repository| repository.name == name).cloned()
}

/// A path or URL named by the request itself: only from the machine's own user, or below an allowed prefix. The
/// configured repository when it is the place of one.
fn direct(origin: &str, actor: &Actor, settings: &Settings) -> Option<Repository> {
    // A server reads `%67` as `g`, and what follows a `?` not as a path: spellings that no comparison sees through.
    let is_disguised = origin.contains(['%', '?', '#', '\\']) || origin.split('/').any(|part| part == "..");
    let below = |prefix: &String| {
        // `/srv/git` allows `/srv/git/x`, not `/srv/git-other`.
        origin.strip_prefix(prefix.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
    };
    let below_allowed = !is_disguised && settings.allowed_origins.iter().any(below);
    if actor.id != LOCAL_USER && !below_allowed {
        return None;
    }
    let known = settings.repositories.iter().find(|known| origin::is_same(&known.origin, origin));
    let unknown = || Repository { name: origin::name(origin), origin: origin.to_owned() };
    Some(known.cloned().unwrap_or_else(unknown))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
