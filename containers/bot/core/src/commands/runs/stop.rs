//! `runs.stop`: requests a live run's stop.

use ars_commands::{Definition, Field, Kind};
use ars_events::Actor;
use ars_types::{RunId, StopMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError},
    view::ID,
};

/// The state of a run that was asked to stop.
const STOPPING: &str = "stopping";

/// The command.
pub(in super::super) struct Stop;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    id: RunId,
    mode: StopMode,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Stopping {
    /// The run.
    #[schemars(with = "String")]
    id: RunId,
    /// The mode.
    #[schemars(with = "String")]
    mode: StopMode,
    /// `stopping`.
    state: String,
}

impl Command for Stop {
    const DEFINITION: Definition = Definition::destructive(
        "runs.stop",
        "runs:write",
        "Requests the stop of a live run.",
    )
    .with_args(&[ID])
    .with_options(&[Field::required(
        "mode",
        Kind::Choice(&["soft", "hard"]),
        "soft lets the run finish its step and answer, hard aborts it",
    )])
    .urgent();
    type Input = Input;
    type Output = Stopping;

    async fn run(call: Call<'_>, input: Input) -> Result<Stopping, CommandError> {
        let Input { id, mode } = input;
        let id = call.run_id(id).await?;
        let actor = Actor::new(call.caller.kind, &call.caller.actor.id);
        call.queries()
            .stop_as(&call.reader(), &id, mode, actor)
            .await?;
        Ok(Stopping {
            id,
            mode,
            state: STOPPING.to_owned(),
        })
    }

    fn text(stopping: &Stopping) -> String {
        format!("`{}` is stopping ({})", stopping.id, stopping.mode)
    }
}
