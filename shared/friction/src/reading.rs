//! A tolerant view of a single stored event. Unknown or malformed events are `Unknown`.

use serde_json::Value;

use crate::intervals::{Interval, MAX_TIME};

/// An event in the stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event<'a> {
    /// Kind, as far as the analyzer needs it.
    pub(crate) kind: EventKind<'a>,
    /// Time by the runner's clock.
    pub(crate) at: Option<i64>,
    /// Seq within the run.
    pub(crate) seq: Option<u64>,
}

/// How the analyzer sees an event's kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EventKind<'a> {
    /// The requester's message.
    Input,
    /// A tool call starts.
    Call {
        tool: &'a str,
        summary: &'a str,
        id: CallKey<'a>,
        command: Option<&'a str>,
    },
    /// A tool call ended.
    Result {
        tool: &'a str,
        ok: bool,
        infra: bool,
        id: CallKey<'a>,
    },
    /// A note; the range covers dropped spans.
    Note {
        kind: &'a str,
        range: Option<Interval>,
    },
    /// Model text beside tool calls.
    Assistant,
    /// The run's final answer.
    Answer,
    /// A span starts here.
    SpanStart {
        id: &'a str,
        parent: Option<&'a str>,
        name: &'a str,
    },
    /// A span ended here.
    SpanEnd {
        id: &'a str,
        parent: Option<&'a str>,
        name: &'a str,
        interval: Option<Interval>,
    },
    /// A model turn in an early stream.
    Turn { interval: Option<Interval> },
    /// A call to an external server in an early stream, with the duration.
    McpUse { ms: Option<i64> },
    /// An earlier turn in the thread.
    Context,
    /// Run metadata; only whether it is a command run matters here.
    Meta { command_run: bool },
    /// Some other side fact.
    Fact,
    /// A kind that this version does not know.
    Unknown,
}

/// Ids that pair a call with the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallKey<'a> {
    pub(crate) call: Option<&'a str>,
    pub(crate) span: Option<&'a str>,
}

impl Event<'_> {
    /// Returns whether it counts in `eventCount`: no narrative, no side fact, no span.
    pub(crate) const fn counts(&self) -> bool {
        matches!(
            self.kind,
            EventKind::Input
                | EventKind::Call { .. }
                | EventKind::Result { .. }
                | EventKind::Note { .. }
                | EventKind::Answer
                | EventKind::Unknown
        )
    }

    /// Returns whether it is content, whose stamps define the run's clock. Context and spans are
    /// not, and an unknown kind might be a span from a later version.
    pub(crate) const fn moves_clock(&self) -> bool {
        match self.kind {
            EventKind::Input
            | EventKind::Call { .. }
            | EventKind::Result { .. }
            | EventKind::Note { .. }
            | EventKind::Assistant
            | EventKind::Answer
            | EventKind::Meta { .. }
            | EventKind::Fact => true,
            EventKind::SpanStart { .. }
            | EventKind::SpanEnd { .. }
            | EventKind::Turn { .. }
            | EventKind::McpUse { .. }
            | EventKind::Context
            | EventKind::Unknown => false,
        }
    }

    /// Returns whether a model turn produced it.
    pub(crate) const fn is_product(&self) -> bool {
        matches!(
            self.kind,
            EventKind::Assistant | EventKind::Call { .. } | EventKind::Answer
        )
    }
}

/// Parses a single event.
pub(crate) fn read(event: &Value) -> Event<'_> {
    Event {
        kind: kind(event),
        at: number(event, "at"),
        seq: event.get("seq").and_then(Value::as_u64),
    }
}

fn kind(event: &Value) -> EventKind<'_> {
    let said = |field| text(event, field).unwrap_or_default();
    let flag = |field: &str| event.get(field).and_then(Value::as_bool);
    match said("type") {
        "input" => EventKind::Input,
        "tool_call" => EventKind::Call {
            tool: said("tool"),
            summary: said("summary"),
            id: call_key(event),
            command: text(event, "command"),
        },
        "tool_result" => EventKind::Result {
            tool: said("tool"),
            ok: flag("ok").unwrap_or(true),
            infra: flag("infra").unwrap_or(false),
            id: call_key(event),
        },
        "run_note" => EventKind::Note {
            kind: said("kind"),
            range: Interval::between(number(event, "from"), number(event, "to")),
        },
        "assistant" => EventKind::Assistant,
        "answer" => EventKind::Answer,
        "span_start" => EventKind::SpanStart {
            id: said("spanId"),
            parent: text(event, "parentSpanId"),
            name: said("name"),
        },
        "span_end" => EventKind::SpanEnd {
            id: said("spanId"),
            parent: text(event, "parentSpanId"),
            name: said("name"),
            interval: timed(event),
        },
        "turn" => EventKind::Turn {
            interval: timed(event),
        },
        "mcp_tool_use" => EventKind::McpUse {
            ms: number(event, "durationMs"),
        },
        "context" => EventKind::Context,
        "run_meta" => EventKind::Meta {
            command_run: said("agent") == "command",
        },
        "skill_use" | "review_artifact" | "pr_description" | "pr_opened" | "replay_note" => {
            EventKind::Fact
        }
        _ => EventKind::Unknown,
    }
}

fn call_key(event: &Value) -> CallKey<'_> {
    let name = |field| text(event, field).filter(|name| !name.is_empty());
    CallKey {
        call: name("callId"),
        span: name("spanId"),
    }
}

fn timed(event: &Value) -> Option<Interval> {
    Some(Interval::lasting(
        number(event, "startedAt")?,
        number(event, "durationMs")?,
    ))
}

fn text<'a>(event: &'a Value, field: &str) -> Option<&'a str> {
    event.get(field).and_then(Value::as_str)
}

/// Returns a time or duration in whole milliseconds, or `None` if it is invalid.
pub(crate) fn number(object: &Value, field: &str) -> Option<i64> {
    let value = object.get(field)?;
    let number = value
        .as_i64()
        .or_else(|| value.as_f64().map(|number| number as i64))?;
    (-MAX_TIME..=MAX_TIME).contains(&number).then_some(number)
}
