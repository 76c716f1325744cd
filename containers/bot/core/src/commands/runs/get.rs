//! `runs.get`: a run, with its events on demand.

use ars_commands::{Definition, Field, Kind, Surfaces};
use ars_events::unwrap_untrusted;
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
    /// The label without a fence, only for the caller who asked for the run: it quotes their own request.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The address of its page, if the service knows its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
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
        let id = call.run_id(input.id).await?;
        let (run, events) = match input.include {
            None => (queries.get_entry(&reader, &id).await?, None),
            Some(Include::Messages) => {
                let (run, events) = queries.get_entry_with_events(&reader, &id).await?;
                (run, Some(events.into_iter().map(fence::event).collect()))
            }
        };
        let is_own = call.caller.actor.is(&run.summary.user_id);
        let run = RunView::whole(run);
        let title = run.title().filter(|_| is_own).map(str::to_owned);
        let settings = call.context.settings();
        let url = settings
            .public_base_url
            .is_some()
            .then(|| settings.run_url(&id));
        Ok(Run {
            run,
            title,
            url,
            events,
            now,
        })
    }

    fn set_now(output: &mut Run, now: i64) {
        output.now = now;
    }

    /// Returns the facts, and the answer if the events have one.
    fn text(output: &Run) -> String {
        let mut facts = output.run.facts(output.now);
        facts.extend(output.url.clone().map(|url| ("page", url)));
        facts.extend(
            output
                .events
                .as_ref()
                .map(|events| ("events", events.len().to_string())),
        );
        let facts = facts
            .iter()
            .map(|(name, value)| format!("{name:<13} {value}"));
        let answer = output
            .events
            .iter()
            .flatten()
            .rfind(|event| event["type"] == "answer");
        let answer = answer.and_then(|event| event["text"].as_str());
        let answer = answer.map(|text| format!("\n{}", unwrap_untrusted(text).unwrap_or(text)));
        facts.chain(answer).collect::<Vec<_>>().join("\n")
    }
}
