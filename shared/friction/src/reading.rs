//! A tolerant view of one stored event (bot supplement section 9). Whatever is not understood is `Unknown`.

use serde_json::Value;

use crate::intervals::{Interval, MAX_TIME};

/// One event of the stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event<'a> {
    /// What it says.
    pub(crate) seen: Seen<'a>,
    /// When, by the runner's clock.
    pub(crate) at: Option<i64>,
    /// Its number in the run.
    pub(crate) seq: Option<u64>,
}

/// What the analyzer makes of an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen<'a> {
    /// The requester spoke.
    Input,
    /// A tool is about to run.
    Call { tool: &'a str, summary: &'a str, id: CallKey<'a>, command: Option<&'a str> },
    /// A tool has run.
    Result { tool: &'a str, ok: bool, infra: bool, id: CallKey<'a> },
    /// A turning point; the range is what `spans_dropped` lost.
    Note { kind: &'a str, range: Option<Interval> },
    /// Model prose beside tool calls.
    Assistant,
    /// The final answer.
    Answer,
    /// A span began.
    SpanStart { id: &'a str, parent: Option<&'a str>, name: &'a str },
    /// A span ended.
    SpanEnd { id: &'a str, parent: Option<&'a str>, name: &'a str, interval: Option<Interval> },
    /// A model turn of an early stream.
    Turn { interval: Option<Interval> },
    /// A call to an external server, of an early stream; how long it took.
    McpUse { ms: Option<i64> },
    /// A turn of the thread before the run.
    Context,
    /// What the run runs with; the one fact that matters here is whether it is a command's.
    Meta { command_run: bool },
    /// Another side fact.
    Fact,
    /// A kind of another version.
    Unknown,
}

/// What pairs a call with its result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallKey<'a> {
    pub(crate) call: Option<&'a str>,
    pub(crate) span: Option<&'a str>,
}

impl Event<'_> {
    /// Whether it is neither narrative nor a side fact nor a span (section 8.2, `eventCount`).
    pub(crate) const fn counts(&self) -> bool {
        matches!(
            self.seen,
            Seen::Input
                | Seen::Call { .. }
                | Seen::Result { .. }
                | Seen::Note { .. }
                | Seen::Answer
                | Seen::Unknown
        )
    }

    /// Whether it is content, whose stamps are the run's clock. Context and spans never are (section 8.2); what this
    /// version cannot read might be a span of a later one.
    pub(crate) const fn moves_clock(&self) -> bool {
        match self.seen {
            Seen::Input
            | Seen::Call { .. }
            | Seen::Result { .. }
            | Seen::Note { .. }
            | Seen::Assistant
            | Seen::Answer
            | Seen::Meta { .. }
            | Seen::Fact => true,
            Seen::SpanStart { .. }
            | Seen::SpanEnd { .. }
            | Seen::Turn { .. }
            | Seen::McpUse { .. }
            | Seen::Context
            | Seen::Unknown => false,
        }
    }

    /// Whether a model turn produced it.
    pub(crate) const fn is_product(&self) -> bool {
        matches!(self.seen, Seen::Assistant | Seen::Call { .. } | Seen::Answer)
    }
}

/// Reads one event.
pub(crate) fn read(event: &Value) -> Event<'_> {
    Event { seen: seen(event), at: number(event, "at"), seq: event.get("seq").and_then(Value::as_u64) }
}

fn seen(event: &Value) -> Seen<'_> {
    let said = |field| text(event, field).unwrap_or_default();
    let flag = |field: &str| event.get(field).and_then(Value::as_bool);
    match said("type") {
        "input" => Seen::Input,
        "tool_call" => Seen::Call {
            tool: said("tool"),
            summary: said("summary"),
            id: call_key(event),
            command: text(event, "command"),
        },
        "tool_result" => Seen::Result {
            tool: said("tool"),
            ok: flag("ok").unwrap_or(true),
            infra: flag("infra").unwrap_or(false),
            id: call_key(event),
        },
        "run_note" => Seen::Note {
            kind: said("kind"),
            range: Interval::between(number(event, "from"), number(event, "to")),
        },
        "assistant" => Seen::Assistant,
        "answer" => Seen::Answer,
        "span_start" => {
            Seen::SpanStart { id: said("spanId"), parent: text(event, "parentSpanId"), name: said("name") }
        }
        "span_end" => Seen::SpanEnd {
            id: said("spanId"),
            parent: text(event, "parentSpanId"),
            name: said("name"),
            interval: timed(event),
        },
        "turn" => Seen::Turn { interval: timed(event) },
        "mcp_tool_use" => Seen::McpUse { ms: number(event, "durationMs") },
        "context" => Seen::Context,
        "run_meta" => Seen::Meta { command_run: said("agent") == "command" },
        "skill_use" | "review_artifact" | "pr_description" | "pr_opened" | "replay_note" => Seen::Fact,
        _ => Seen::Unknown,
    }
}

fn call_key(event: &Value) -> CallKey<'_> {
    let name = |field| text(event, field).filter(|name| !name.is_empty());
    CallKey { call: name("callId"), span: name("spanId") }
}

fn timed(event: &Value) -> Option<Interval> {
    Some(Interval::lasting(number(event, "startedAt")?, number(event, "durationMs")?))
}

fn text<'a>(event: &'a Value, field: &str) -> Option<&'a str> {
    event.get(field).and_then(Value::as_str)
}

/// A time or duration in whole milliseconds; none when it cannot be one.
pub(crate) fn number(object: &Value, field: &str) -> Option<i64> {
    let value = object.get(field)?;
    let number = value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))?;
    (-MAX_TIME..=MAX_TIME).contains(&number).then_some(number)
}
