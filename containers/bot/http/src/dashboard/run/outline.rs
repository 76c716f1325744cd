//! A run's transcript as plain text, for a page without a script.
//!
//! Reads events as JSON and skips unknown kinds, as every reader of stored events must.

use serde_json::Value;

/// The transcript as plain text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    /// The run's request text.
    pub(super) request: Option<String>,
    /// The steps, in order.
    pub(super) items: Vec<Item>,
    /// The run's answer text.
    pub(super) answer: Option<String>,
}

/// An entry in the transcript.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Prose that the model wrote.
    Prose(String),
    /// A tool call with the result.
    Call {
        /// Id that matches the result.
        call_id: Option<String>,
        /// The call on a single line.
        summary: String,
        /// `ok` and the result's summary, once known.
        result: Option<(bool, String)>,
    },
    /// A note, or a later message from the requester.
    Note(String),
}

impl Outline {
    /// Returns the outline for a run's events.
    pub(super) fn from_events(events: &[Value]) -> Self {
        let mut outline = Self::default();
        for event in events {
            outline.add(event);
        }
        outline
    }

    fn add(&mut self, event: &Value) {
        let text = |name: &str| event.get(name).and_then(Value::as_str).map(str::to_owned);
        match event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "input" if self.request.is_none() => self.request = text("text"),
            "input" => self
                .items
                .extend(text("text").map(|said| Item::Note(format!("Follow-up: {said}")))),
            "assistant" => self.items.extend(text("text").map(Item::Prose)),
            "tool_call" => {
                let summary = text("summary").or_else(|| text("tool")).unwrap_or_default();
                self.items.push(Item::Call {
                    call_id: text("callId"),
                    summary,
                    result: None,
                });
            }
            "tool_result" => {
                let ok = event.get("ok").and_then(Value::as_bool).unwrap_or(false);
                self.settle(
                    text("callId").as_deref(),
                    ok,
                    text("summary").unwrap_or_default(),
                );
            }
            "run_note" => self.items.extend(text("summary").map(Item::Note)),
            "answer" => self.answer = text("text"),
            _ => {}
        }
    }

    /// Adds a result to the matching call, or to the oldest open call if it names none.
    fn settle(&mut self, id: Option<&str>, ok: bool, summary: String) {
        let open = self.items.iter_mut().find_map(|item| match item {
            Item::Call {
                call_id,
                result: result @ None,
                ..
            } if id.is_none() || call_id.as_deref() == id => Some(result),
            Item::Prose(_) | Item::Call { .. } | Item::Note(_) => None,
        });
        if let Some(result) = open {
            *result = Some((ok, summary));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_events_are_skipped() {
        let events = [
            json!({"type": "span_start", "name": "x"}),
            json!({"type": "input", "text": "ask"}),
            json!({"type": "assistant", "text": "look"}),
            json!({"type": "tool_call", "tool": "bash", "summary": "$ a", "callId": "1"}),
            json!({"type": "tool_call", "tool": "bash", "summary": "$ b", "callId": "2"}),
            json!({"type": "tool_result", "tool": "bash", "ok": false, "summary": "no", "callId": "2"}),
            json!({"type": "run_note", "kind": "wrap_up", "summary": "hurry"}),
            json!({"type": "input", "text": "more"}),
            json!({"type": "something_new"}),
            json!({"type": "answer", "text": "**done**", "raw": "*done*"}),
        ];
        let call = |id: &str, summary: &str, result| Item::Call {
            call_id: Some(id.into()),
            summary: summary.into(),
            result,
        };
        let items = vec![
            Item::Prose("look".into()),
            call("1", "$ a", None),
            call("2", "$ b", Some((false, "no".into()))),
            Item::Note("hurry".into()),
            Item::Note("Follow-up: more".into()),
        ];
        let expected = Outline {
            request: Some("ask".into()),
            items,
            answer: Some("**done**".into()),
        };
        assert_eq!(Outline::from_events(&events), expected);
    }
}
