//! `runs.events`: a page from a run's events.

use ars_commands::{Definition, Field, Kind, Surfaces};
use ars_types::{RunId, UnixMillis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    super::{call::Call, command::Command, error::CommandError, fence},
    view::ID,
};
use crate::registry::Restored;

/// Most events of a page.
const MAX_EVENTS: i64 = 500;
/// Most bytes of a page's events as JSON. A page has at least one event.
const MAX_BYTES: usize = 256 * 1024;

/// The command.
pub(in super::super) struct Events;

/// The input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Input {
    id: RunId,
    after_seq: u64,
    limit: u32,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct EventsPage {
    /// Events in seq order. Free text is fenced.
    #[schemars(with = "Vec<Map<String, Value>>")]
    events: Vec<Value>,
    /// `afterSeq` of the next page, while more events follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after_seq: Option<u64>,
    /// Present while the process that continued the run after another one's death has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed: Option<Resumed>,
}

/// The point at which a process continued a run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Resumed {
    /// When it did, in Unix milliseconds.
    at: UnixMillis,
    /// Last seq before. A reader that is further has lost events, and continues after this one.
    after_seq: u64,
}

impl Command for Events {
    const DEFINITION: Definition = Definition::read(
        "runs.events",
        "runs:read",
        "Shows a page of a run's events.",
    )
    .with_args(&[ID])
    .with_options(&[
        Field::optional("afterSeq", Kind::at_least(0), "only events after this one").or_integer(0),
        Field::optional("limit", Kind::within(1, MAX_EVENTS), "most events").or_integer(MAX_EVENTS),
    ])
    .on(Surfaces::NOT_CHAT);
    type Input = Input;
    type Output = EventsPage;

    async fn run(call: Call<'_>, input: Input) -> Result<EventsPage, CommandError> {
        let id = call.run_id(input.id).await?;
        let (page, restored) = call
            .queries()
            .events_page(&call.reader(), &id, input.after_seq, input.limit)
            .await?;
        let (mut events, mut bytes) = (Vec::new(), 0);
        let mut next_after_seq = page.next_after_seq;
        for event in page.events {
            let event = fence::event(event);
            bytes += event.to_string().len();
            if bytes > MAX_BYTES && !events.is_empty() {
                next_after_seq = events.last().and_then(seq_of);
                break;
            }
            events.push(event);
        }
        let resumed = restored.map(|Restored { at, after_seq }| Resumed { at, after_seq });
        Ok(EventsPage {
            events,
            next_after_seq,
            resumed,
        })
    }

    fn text(page: &EventsPage) -> String {
        let mut lines: Vec<String> = page.events.iter().map(Value::to_string).collect();
        if let Some(seq) = page.next_after_seq {
            lines.push(format!("more: --after-seq {seq}"));
        }
        lines.join("\n")
    }
}

fn seq_of(event: &Value) -> Option<u64> {
    event.get("seq")?.as_u64()
}
