//! `config.instructions`: shows, sets or clears custom instructions, which only advise the model.

use ars_commands::{Definition, Field, Kind};
use ars_settings::MAX_INSTRUCTIONS_CHARS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError},
    scope::{CHANNEL, CHANNEL_RULE, SCOPE, ScopeName, overrides},
};

/// The command.
pub(in super::super) struct Instructions;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    scope: ScopeName,
    text: Option<String>,
    channel: Option<String>,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Output {
    /// The scope.
    scope: ScopeName,
    /// The action.
    action: Action,
    /// The text that applies now.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

/// The action, which follows from the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// Without a text.
    Show,
    /// With a text.
    Set,
    /// With an empty text.
    Clear,
}

impl Command for Instructions {
    const DEFINITION: Definition = Definition::write(
        "config.instructions",
        "config:write",
        "Shows, sets or clears the custom instructions of a channel or of oneself.",
    )
    .with_args(&[
        SCOPE,
        Field::optional(
            "text",
            Kind::Rest {
                max: MAX_INSTRUCTIONS_CHARS,
            },
            "the instructions; without a text they are shown, an empty one clears them",
        ),
    ])
    .with_options(&[CHANNEL])
    .with_rules(&[CHANNEL_RULE]);
    type Input = Input;
    type Output = Output;

    async fn run(call: Call<'_>, input: Input) -> Result<Output, CommandError> {
        let Input {
            scope,
            text,
            channel,
        } = input;
        let owner = scope.owner(call, channel)?;
        // Requests in the caller's own channel run with the instructions, so they are no secret
        // there.
        if text.is_some() || !owner.is_own(call) {
            owner.check(call)?;
        }
        let (action, scopes) = match &text {
            None => (Action::Show, call.current_overrides()),
            Some(text) => {
                let action = if text.is_empty() {
                    Action::Clear
                } else {
                    Action::Set
                };
                (
                    action,
                    overrides(call)?
                        .change(|scopes| scopes.instruct(owner.target(), text))
                        .await?,
                )
            }
        };
        let effective = call
            .context
            .settings()
            .scopes
            .effective(&scopes, owner.target());
        Ok(Output {
            scope,
            action,
            instructions: effective.instructions,
        })
    }

    fn text(output: &Output) -> String {
        let scope = output.scope.as_str();
        let done = match output.action {
            Action::Show => format!("Custom instructions ({scope})"),
            Action::Set => format!("Custom instructions ({scope}) are set"),
            Action::Clear => format!("Custom instructions ({scope}) are cleared"),
        };
        match &output.instructions {
            Some(text) if output.action == Action::Clear => {
                format!("{done}. The configuration's apply again:\n{text}")
            }
            Some(text) => format!("{done}:\n{text}"),
            None if output.action == Action::Show => format!("{done}: none"),
            None => format!("{done}."),
        }
    }
}
