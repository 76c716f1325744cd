//! `config.set`: agent, model and effort of a channel or of oneself.

use std::collections::BTreeMap;

use ars_bot_tools::agents;
use ars_commands::{Definition, Field, Kind, names};
use ars_settings::Scope;
use ars_types::{Effort, ModelRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError},
    scope::{CHANNEL, SCOPE, ScopeName, overrides},
    view::ScopeView,
};

/// The efforts.
const EFFORT: Kind = Kind::Choice(&["low", "medium", "high", "xhigh", "max"]);
/// A model.
const MODEL: Kind = Kind::Name(&names::MODEL);

/// The command.
pub(in super::super) struct Set;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    scope: ScopeName,
    agent: Option<String>,
    model: Option<ModelRef>,
    #[serde(default)]
    models: BTreeMap<String, ModelRef>,
    effort: Option<Effort>,
    #[serde(default)]
    efforts: BTreeMap<String, Effort>,
    channel: Option<String>,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Changed {
    /// The changed scope.
    scope: ScopeName,
    /// Its settings after the change.
    effective: ScopeView,
}

impl Command for Set {
    const DEFINITION: Definition = Definition::write(
        "config.set",
        "config:write",
        "Sets the agent, the model or the effort of a channel or of oneself.",
    )
    .with_args(&[SCOPE])
    .with_options(&[
        Field::optional("agent", Kind::Name(&names::AGENT), "the agent of requests that name none"),
        Field::optional("model", MODEL, "the model for any agent"),
        Field::optional("models", Kind::Map { key: &names::AGENT, value: &MODEL }, "the model of one agent"),
        Field::optional("effort", EFFORT, "the effort for any agent"),
        Field::optional(
            "efforts",
            Kind::Map { key: &names::AGENT, value: &EFFORT },
            "the effort of one agent",
        ),
        CHANNEL,
    ]);
    type Input = Input;
    type Output = Changed;

    async fn run(call: Call<'_>, input: Input) -> Result<Changed, CommandError> {
        let Input { scope, agent, model, models, effort, efforts, channel } = input;
        let owner = scope.owner(call, channel)?;
        owner.check(call)?;
        let wanted = Scope { agent, model, models, effort, efforts, ..Scope::default() };
        known_agents(&wanted)?;
        let overrides = overrides(call)?;
        let changed = overrides.change(|scopes| scopes.set(owner.target(), &wanted)).await?;
        let effective = call.context.settings().scopes.effective(&changed, owner.target());
        Ok(Changed { scope, effective: ScopeView::of(&effective) })
    }

    fn text(changed: &Changed) -> String {
        format!("Settings ({}) are now:\n{}", changed.scope.as_str(), changed.effective.text())
    }
}

fn known_agents(scope: &Scope) -> Result<(), CommandError> {
    match scope.agents().find(|(_, agent)| agents::find(agent).is_none()) {
        None => Ok(()),
        Some((field, _)) => {
            Err(CommandError::invalid(format!("{field} must name an agent: {}", agents::names())))
        }
    }
}
