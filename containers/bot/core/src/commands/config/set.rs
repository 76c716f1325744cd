//! `config.set`: sets agent, model and effort for a channel or oneself.

use std::collections::BTreeMap;

use ars_bot_tools::agents;
use ars_commands::{Definition, Field, FieldRule, Kind, Name, names};
use ars_settings::Scope;
use ars_types::{Effort, ModelRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError},
    scope::{CHANNEL, CHANNEL_RULE, SCOPE, ScopeName, overrides},
    view::ScopeView,
};

/// The efforts.
const EFFORT: Kind = Kind::Choice(&["low", "medium", "high", "xhigh", "max"]);
/// An agent of this version.
const AGENT: Name = Name {
    rule: "name an agent: general, coding, review, research",
    pattern: "^(general|coding|review|research)$",
    parse: |text| agents::find(text).map(|agent| agent.name.to_owned()),
    ..names::AGENT
};
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
        Field::optional(
            "agent",
            Kind::Name(&AGENT),
            "the agent of requests that name none",
        ),
        Field::optional("model", MODEL, "the model for any agent"),
        Field::optional(
            "models",
            Kind::Map {
                key: &AGENT,
                value: &MODEL,
            },
            "the model of one agent",
        ),
        Field::optional("effort", EFFORT, "the effort for any agent"),
        Field::optional(
            "efforts",
            Kind::Map {
                key: &AGENT,
                value: &EFFORT,
            },
            "the effort of one agent",
        ),
        CHANNEL,
    ])
    .with_rules(&[
        FieldRule::AnyOf(&["agent", "model", "models", "effort", "efforts"]),
        CHANNEL_RULE,
    ]);
    type Input = Input;
    type Output = Changed;

    async fn run(call: Call<'_>, input: Input) -> Result<Changed, CommandError> {
        let Input {
            scope,
            agent,
            model,
            models,
            effort,
            efforts,
            channel,
        } = input;
        let owner = scope.owner(call, channel)?;
        owner.check(call)?;
        let wanted = Scope {
            agent,
            model,
            models,
            effort,
            efforts,
            ..Scope::default()
        };
        let overrides = overrides(call)?;
        let changed = overrides
            .change(|scopes| scopes.set(owner.target(), &wanted))
            .await?;
        let effective = call
            .context
            .settings()
            .scopes
            .effective(&changed, owner.target());
        Ok(Changed {
            scope,
            effective: ScopeView::from_scope(&effective),
        })
    }

    fn text(changed: &Changed) -> String {
        format!(
            "Settings ({}) are now:\n{}",
            changed.scope.as_str(),
            changed.effective.text()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_names_every_agent() {
        assert_eq!(AGENT.rule, format!("name an agent: {}", agents::names()));
        assert_eq!(
            AGENT.pattern,
            format!("^({})$", agents::names().replace(", ", "|"))
        );
    }
}
