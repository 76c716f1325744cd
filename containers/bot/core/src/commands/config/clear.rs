//! `config.clear`: removes changed settings; those in the configuration file stay.
//!
//! They are a channel's or the caller's own.

use ars_commands::Definition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError},
    scope::{CHANNEL, CHANNEL_RULE, SCOPE, ScopeName, overrides},
};

/// The command.
pub(in super::super) struct Clear;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    scope: ScopeName,
    channel: Option<String>,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Cleared {
    /// The cleared scope.
    scope: ScopeName,
    /// Always true.
    cleared: bool,
}

impl Command for Clear {
    const DEFINITION: Definition = Definition::destructive(
        "config.clear",
        "config:write",
        "Removes every changed setting of a channel or of oneself.",
    )
    .with_args(&[SCOPE])
    .with_options(&[CHANNEL])
    .with_rules(&[CHANNEL_RULE]);
    type Input = Input;
    type Output = Cleared;

    fn permit(call: Call<'_>, input: &Input) -> Result<(), CommandError> {
        let owner = input.scope.owner(call, input.channel.clone())?;
        owner.check(call)
    }

    async fn run(call: Call<'_>, input: Input) -> Result<Cleared, CommandError> {
        Self::permit(call, &input)?;
        let owner = input.scope.owner(call, input.channel)?;
        overrides(call)?
            .change(|scopes| Ok(scopes.clear(owner.target())))
            .await?;
        Ok(Cleared {
            scope: input.scope,
            cleared: true,
        })
    }

    fn text(cleared: &Cleared) -> String {
        format!("Changed settings ({}) are removed.", cleared.scope.as_str())
    }
}
