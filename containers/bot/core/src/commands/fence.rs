//! Fences the free text in run events and diagnoses (docs/reference/events.md#untrusted-text).

use ars_events::wrap_untrusted;
use serde_json::Value;

/// Event members with free text, by event type. Other members of these types are facts.
const FREE: [(&str, &[&str]); 13] = [
    ("input", &["text"]),
    ("context", &["text"]),
    ("run_meta", &[]),
    ("assistant", &["text"]),
    ("tool_call", &["summary", "command"]),
    ("tool_result", &["summary", "output"]),
    ("run_note", &["summary"]),
    ("skill_use", &["description"]),
    ("review_artifact", &["diff", "summary"]),
    ("answer", &["text", "raw"]),
    ("span_start", &[]),
    ("span_end", &["error"]),
    ("turn", &[]),
];

/// Members that are not fenced in an event with an unknown type.
const COMMON: [&str; 3] = ["type", "seq", "at"];

/// Fences an event's free text. If the event type is unknown, every text is free.
pub(super) fn event(mut event: Value) -> Value {
    let kind = event
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match FREE.iter().find(|(known, _)| *known == kind) {
        Some((_, free)) => free.iter().for_each(|member| {
            if let Some(text) = event.get_mut(*member) {
                all(text);
            }
        }),
        None => {
            if let Value::Object(members) = &mut event {
                let unknown = members
                    .iter_mut()
                    .filter(|(name, _)| !COMMON.contains(&name.as_str()));
                unknown.for_each(|(_, value)| all(value));
            }
        }
    }
    event
}

/// Fences a diagnosis's summaries, which quote tool calls.
pub(super) fn diagnosis(mut diagnosis: Value) -> Value {
    let findings = diagnosis.get_mut("findings").and_then(Value::as_array_mut);
    for finding in findings.into_iter().flatten() {
        if let Some(summary) = finding.get_mut("summary") {
            all(summary);
        }
    }
    diagnosis
}

/// Fences every text in a value.
fn all(value: &mut Value) {
    match value {
        Value::String(text) => *text = wrap_untrusted(text),
        Value::Array(items) => items.iter_mut().for_each(all),
        Value::Object(members) => members.values_mut().for_each(all),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn free_text_is_fenced_and_facts_are_not() {
        let call = json!({"type": "tool_call", "tool": "bash", "summary": "$ ls", "command": "ls", "seq": 3});
        let fenced = event(call);
        assert_eq!(fenced["summary"], wrap_untrusted("$ ls"));
        assert_eq!(fenced["command"], wrap_untrusted("ls"));
        assert_eq!(
            (&fenced["tool"], &fenced["seq"]),
            (&json!("bash"), &json!(3))
        );
        let start = json!({"type": "span_start", "name": "tool.bash", "spanId": "s"});
        assert_eq!(event(start.clone()), start);
    }

    #[test]
    fn every_text_of_an_unknown_event_is_fenced() {
        let later = json!({"type": "later", "seq": 1, "deep": {"text": ["x"]}, "n": 1});
        let expected =
            json!({"type": "later", "seq": 1, "deep": {"text": [wrap_untrusted("x")]}, "n": 1});
        assert_eq!(event(later), expected);
    }

    #[test]
    fn summaries_of_findings_are_fenced() {
        let fenced =
            diagnosis(json!({"verdict": "v", "findings": [{"summary": "s", "tool": "bash"}]}));
        assert_eq!(
            fenced["findings"][0],
            json!({"summary": wrap_untrusted("s"), "tool": "bash"})
        );
        assert_eq!(fenced["verdict"], "v");
    }
}
