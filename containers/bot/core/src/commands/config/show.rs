//! `config.show`: the caller's settings in effect in a channel, their layers, and the restrictions.

use std::collections::BTreeMap;

use ars_auth::Set;
use ars_bot_tools::agents::{self, AGENTS, DEFAULT_AGENT};
use ars_commands::{Definition, FieldRule};
use ars_settings::{Choice, Defaults, Layers, Scope, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError},
    scope::CHANNEL,
    view::ScopeView,
};
use crate::context::settings::Settings;

/// The grant for changes of a channel's settings.
const GRANT: &str = "config:write";
/// Most actors that the hint names.
const MAX_HINTED: usize = 5;

/// The command.
pub(in super::super) struct Show;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    channel: Option<String>,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Shown {
    /// What a request of the caller in this channel runs with.
    effective: Effective,
    /// The defaults of the installation.
    defaults: DefaultsView,
    /// The channel's settings.
    channel: ScopeView,
    /// The caller's settings.
    user: ScopeView,
    /// The organization's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    org: Option<ScopeView>,
    /// Agents that need a grant.
    restricted_agents: Vec<String>,
    /// Whether a change of the channel's settings needs a grant.
    channel_config_restricted: bool,
    /// Who can make such a change.
    admins_hint: String,
}

/// The choices of a request without directives.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Effective {
    /// The agent.
    agent: String,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<String>,
}

/// The defaults.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct DefaultsView {
    /// The agent.
    agent: String,
    /// Model by agent.
    models: BTreeMap<String, String>,
    /// Effort by agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    efforts: BTreeMap<String, String>,
}

impl Command for Show {
    const DEFINITION: Definition = Definition::read(
        "config.show",
        "config:read",
        "Shows the agent, the model and the effort in effect, and the settings behind them.",
    )
    .with_options(&[CHANNEL])
    .with_rules(&[FieldRule::OfCaller {
        field: "channel",
        when: None,
    }]);
    type Input = Input;
    type Output = Shown;

    async fn run(call: Call<'_>, input: Input) -> Result<Shown, CommandError> {
        let channel = call.channel(input.channel)?;
        let settings = call.context.settings();
        let overrides = call.current_overrides();
        let effective = |target| settings.scopes.effective(&overrides, target);
        let user = effective(Target::User(call.caller.actor.main_account()));
        let channel = effective(Target::Channel(&channel));
        let org = effective(Target::Org);
        Ok(Shown {
            effective: in_effect(settings, &user, &channel),
            defaults: defaults(settings),
            channel: ScopeView::from_scope(&channel),
            user: ScopeView::from_scope(&user),
            org: (!org.is_empty()).then(|| ScopeView::from_scope(&org)),
            restricted_agents: settings.restrictions.agents.iter().cloned().collect(),
            channel_config_restricted: true,
            admins_hint: hint(settings),
        })
    }

    fn text(shown: &Shown) -> String {
        let Effective {
            agent,
            model,
            effort,
        } = &shown.effective;
        let model = model.as_deref().unwrap_or("no model");
        let effort = effort
            .as_ref()
            .map_or_else(String::new, |effort| format!(", effort {effort}"));
        let restricted = match shown.restricted_agents.as_slice() {
            [] => String::new(),
            agents => format!("\nrestricted agents: {}", agents.join(", ")),
        };
        format!(
            "In effect here: `{agent}` with `{model}`{effort}\nchannel:\n{}\nyours:\n{}{restricted}\n{}",
            shown.channel.text(),
            shown.user.text(),
            shown.admins_hint
        )
    }
}

fn in_effect(settings: &Settings, user: &Scope, channel: &Scope) -> Effective {
    let defaults = Defaults {
        agent: settings.default_agent.as_deref(),
        model: settings.default_model.as_ref(),
        models: &settings.models,
        efforts: &settings.efforts,
    };
    let layers = Layers {
        directive: Choice::default(),
        thread: Choice::default(),
        user,
        channel,
        defaults,
    };
    let agent = layers.agent().unwrap_or(DEFAULT_AGENT);
    let built_in = agents::find(agent).and_then(|spec| spec.effort);
    Effective {
        agent: agent.to_owned(),
        model: layers.model(agent).map(ToString::to_string),
        effort: layers
            .effort(agent, built_in)
            .map(|effort| effort.to_string()),
    }
}

fn defaults(settings: &Settings) -> DefaultsView {
    let model = |agent: &str| {
        settings
            .models
            .get(agent)
            .or(settings.default_model.as_ref())
    };
    let models = AGENTS
        .iter()
        .filter_map(|agent| Some((agent.name.to_owned(), model(agent.name)?.to_string())));
    let efforts = settings
        .efforts
        .iter()
        .map(|(agent, effort)| (agent.clone(), effort.to_string()));
    DefaultsView {
        agent: settings
            .default_agent
            .clone()
            .unwrap_or_else(|| DEFAULT_AGENT.to_owned()),
        models: models.collect(),
        efforts: efforts.collect(),
    }
}

/// Names actors with the grant, as far as the configuration does.
fn hint(settings: &Settings) -> String {
    let holders = settings
        .grants
        .iter()
        .filter(|(_, grants)| match &grants.actions {
            Set::All => true,
            Set::Only(actions) => actions.contains(GRANT),
        });
    let holders: Vec<&str> = holders
        .map(|(actor, _)| actor.as_str())
        .take(MAX_HINTED)
        .collect();
    if holders.is_empty() {
        return format!(
            "Changing a channel's settings needs the grant {GRANT}, which the configuration gives to no one."
        );
    }
    format!(
        "Changing a channel's settings needs the grant {GRANT}, which these have: {}.",
        holders.join(", ")
    )
}
