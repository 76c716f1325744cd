//! A resumed run's spans: the request span continues, and new ids do not repeat.

use ars_types::UnixMillis;
use serde_json::Value;

use crate::run::{Span, Spans};

/// Returns the span source behind these events, and the request's span if the events have it.
pub(super) fn continued(events: &[Value], received_at: UnixMillis) -> (Spans, Option<Span>) {
    let starts = || events.iter().filter(|event| event["type"] == "span_start");
    let last = starts()
        .filter_map(|start| {
            start["spanId"]
                .as_str()?
                .strip_prefix('s')?
                .parse::<u64>()
                .ok()
        })
        .max();
    let request = starts().find(|start| start["name"] == "request");
    let request = request.and_then(|start| {
        let began = start["at"].as_i64().unwrap_or(received_at);
        Some(Span::begun(start["spanId"].as_str()?, "request", began))
    });
    (Spans::after(last.unwrap_or_default()), request)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn request_span_is_found_and_ids_continue() {
        let events = [
            json!({ "type": "span_start", "spanId": "s1", "name": "request", "at": 5 }),
            json!({ "type": "span_start", "spanId": "s12", "name": "run.agent", "at": 6 }),
            json!({ "type": "text", "spanId": "s99" }),
        ];
        let (spans, request) = continued(&events, 3);
        assert_eq!(request.unwrap().id(), "s1");
        assert_eq!(spans.mint(), "s13");
        assert!(continued(&[], 3).1.is_none());
    }
}
