//! `runs.get`: one run, with its events on demand.

use ars_commands::{Definition, Field, Kind, Surfaces};
use ars_types::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    super::{call::Call, command::Command, error::CommandError, fence},
    view::{ID, RunView},
};

/// The command.
pub(in super::super) struct Get;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    id: RunId,
    include: Option<Include>,
}

/// An addition to the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Include {
    Messages,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Run {
    /// The run.
    #[serde(flatten)]
    run: RunView,
    /// Its kept events. Free text is fenced.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    events: Option<Vec<Value>>,
    /// The time of the answer, for the duration of a live run.
    #[serde(skip)]
    now: i64,
}

impl Command for Get {
    const DEFINITION: Definition = Definition::read("runs.get", "runs:read", "Shows one run.")
        .with_args(&[ID])
        .with_options(&[Field::optional(
            "include",
            Kind::Choice(&["messages"]),
            "`messages` adds the events of the run",
        )])
        .on(Surfaces::NOT_CHAT);
    type Input = Input;
    type Output = Run;

    async fn run(call: Call<'_>, input: Input) -> Result<Run, CommandError> {
        let now = call.context.clock().now();
        let (queries, reader) = (call.queries(), call.reader());
        let (run, events) = match input.include {
            None => (queries.get_entry(&reader, &input.id).await?, None),
            Some(Include::Messages) => {
                let (run, events) = queries.get_entry_with_events(&reader, &input.id).await?;
                (run, Some(events.into_iter().map(fence::event).collect()))
            }
        };
        Ok(Run { run: RunView::whole(run), events, now })
    }

    fn set_now(output: &mut Run, now: i64) {
        output.now = now;
    }

    fn text(output: &Run) -> String {
        let events =
            output.events.as_ref().map_or_else(String::new, |events| format!(", {} events", events.len()));
        format!("{}{events}", output.run.line(output.now))
    }
}
