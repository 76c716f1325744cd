//! A tolerant view of one stored event.

use serde_json::Value;

/// What the analyzer makes of an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen<'a> {
    /// A tool is about to run.
    Call { tool: &'a str, summary: &'a str, call_id: Option<&'a str>, command: Option<&'a str> },
    /// A tool has run.
    Result { tool: &'a str, ok: bool, infra: bool, call_id: Option<&'a str> },
    /// A turning point.
    Note(&'a str),
    /// A model turn ended.
    ModelTurn { started_at: i64, duration_ms: i64 },
    /// Input, answer and kinds of a later version: they move the run's clock.
    Content,
    /// Prose, context, facts and other spans: not counted.
    Aside { moves_clock: bool },
}

pub(crate) fn read(event: &Value) -> Seen<'_> {
    let text = |field: &str| event.get(field).and_then(Value::as_str);
    match text("type").unwrap_or_default() {
        "tool_call" => Seen::Call {
            tool: text("tool").unwrap_or_default(),
            summary: text("summary").unwrap_or_default(),
            call_id: text("callId"),
            command: text("command"),
        },
        "tool_result" => Seen::Result {
            tool: text("tool").unwrap_or_default(),
            ok: event.get("ok").and_then(Value::as_bool).unwrap_or(true),
            infra: event.get("infra").and_then(Value::as_bool).unwrap_or(false),
            call_id: text("callId"),
        },
        "run_note" => Seen::Note(text("kind").unwrap_or_default()),
        "span_end" if text("name") == Some("model.turn") => {
            match (number(event, "startedAt"), number(event, "durationMs")) {
                (Some(started_at), Some(duration_ms)) => Seen::ModelTurn { started_at, duration_ms },
                _ => Seen::Aside { moves_clock: false },
            }
        }
        "span_start" | "span_end" | "context" => Seen::Aside { moves_clock: false },
        "assistant" | "run_meta" | "skill_use" | "review_artifact" | "pr_description" | "pr_opened" => {
            Seen::Aside { moves_clock: true }
        }
        _ => Seen::Content,
    }
}

/// When the event happened.
pub(crate) fn at(event: &Value) -> Option<i64> {
    number(event, "at")
}

fn number(event: &Value, field: &str) -> Option<i64> {
    let value = event.get(field)?;
    value.as_i64().or_else(|| value.as_f64().filter(|n| n.is_finite()).map(|n| n as i64))
}
