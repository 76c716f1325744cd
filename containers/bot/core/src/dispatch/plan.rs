//! What a request resolves to: agent, model, effort and repository (bot supplement section 12.3).
//!
//! Pure: every refusal is a sentence for the requester. Order of precedence, highest first: choices made outside
//! the text, directives, the thread, the configuration, the agent.

use ars_auth::{Actor, can_run_agent, can_use_repo};
use ars_bot_ports::{Choices, Repository};
use ars_bot_tools::agents::{self, AgentSpec, DEFAULT_AGENT};
use ars_settings::{Choice, Defaults, Layers, Scope, Target};
use ars_types::{Effort, ModelRef};

use super::origin;
use crate::settings::Settings;

/// The machine's own user at the command line; no token map entry can yield this id.
const LOCAL_USER: &str = "cli:local";

/// What will run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The model.
    pub model: ModelRef,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// The repository the request or the configuration names; the thread's own when absent.
    pub repository: Option<Repository>,
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

/// Who asks for what: the choices of the request, filled up with the thread's, and whoever makes them.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// The choices.
    pub choices: &'a Choices,
    /// What else is said of whoever asks and of where it is asked.
    pub scopes: &'a Scopes,
    /// Whoever asks, with the grants of the configuration.
    pub actor: &'a Actor,
    /// The installation.
    pub settings: &'a Settings,
}

impl Wish<'_> {
    /// The agent, if whoever asks may run it. That is all a thread with a live run asks of a message: it brings no model
    /// and no repository of its own.
    pub fn agent(&self) -> Result<&'static AgentSpec, String> {
        let name = self.layers().agent().unwrap_or(DEFAULT_AGENT);
        let agent = agents::find(name)
            .ok_or_else(|| format!("there is no such agent. The agents are: {}.", agents::names()))?;
        can_run_agent(self.actor, &self.settings.restrictions, agent.name)
            .map_err(|_| format!("you may not run the {} agent here.", agent.name))?;
        Ok(agent)
    }

    /// What that agent runs with, asking the gate of its repository.
    pub fn plan(&self, agent: &AgentSpec, own: Option<&Repository>) -> Result<Plan, String> {
        let layers = self.layers();
        let model = layers.model(agent.name).cloned().ok_or(
            "no model is configured. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model in the configuration.",
        )?;
        let effort = layers.effort(agent.name, agent.effort);
        let named = self.choices.repository.as_deref();
        let repository = match agent.needs_repository {
            true => resolve_repository(named, self.actor, self.settings, own)?,
            false => None,
        };
        Ok(Plan { model, effort, repository })
    }

    fn layers(&self) -> Layers<'_> {
        let Self { choices, scopes, settings, .. } = self;
        let directive =
            Choice { agent: choices.agent.as_deref(), model: choices.model.as_ref(), effort: choices.effort };
        let defaults = Defaults {
            agent: settings.default_agent.as_deref(),
            model: settings.default_model.as_ref(),
            models: &settings.models,
            efforts: &settings.efforts,
        };
        let (user, channel) = (&scopes.user, &scopes.channel);
        Layers { directive, thread: Choice::default(), user, channel, defaults }
    }
}

/// `None` means the thread's own repository, which passed the gate when the thread got it and passes it again.
fn resolve_repository(
    named: Option<&str>,
    actor: &Actor,
    settings: &Settings,
    thread_repository: Option<&Repository>,
) -> Result<Option<Repository>, String> {
    let repository = match (named, thread_repository) {
        (Some(named), _) => place(named, actor, settings),
        (None, Some(own)) => return allowed(actor, settings, own).map(|()| None),
        (None, None) => settings.default_repository.as_deref().and_then(|name| configured(name, settings)),
    };
    let Some(repository) = repository else {
        let known: Vec<_> = settings.repositories.iter().map(|repository| repository.name.as_str()).collect();
        let lead = if named.is_some() { "that repository is not known here." } else { "which repository?" };
        return Err(match known.as_slice() {
            [] => format!("{lead} No repository is configured."),
            known => format!("{lead} Name one with `repo:<name>`. Known here: {}.", known.join(", ")),
        });
    };
    allowed(actor, settings, &repository)?;
    Ok(Some(repository))
}

/// The repository that a request names, if it may name it.
pub fn place(named: &str, actor: &Actor, settings: &Settings) -> Option<Repository> {
    configured(named, settings).or_else(|| direct(named, actor, settings))
}

/// Asks the gate by every name that the repository's place has, configured or read from its path: one that is closed
/// stays closed under all of them.
fn allowed(actor: &Actor, settings: &Settings, repository: &Repository) -> Result<(), String> {
    let others =
        settings.repositories.iter().filter(|other| origin::is_same(&other.origin, &repository.origin));
    others.chain([repository]).try_for_each(|one| by_name(actor, settings, &one.name))?;
    origin::slug(&repository.origin).map_or(Ok(()), |slug| by_name(actor, settings, &slug))
}

/// Asks the gate of a repository that is known by its name.
pub fn may_use(actor: &Actor, settings: &Settings, name: &str) -> Result<(), String> {
    let unknown = || Repository { name: name.to_owned(), origin: origin::of_name(name).to_owned() };
    allowed(actor, settings, &configured(name, settings).unwrap_or_else(unknown))
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

#[cfg(test)]
#[path = "restricted_tests.rs"]
mod restricted_tests;
