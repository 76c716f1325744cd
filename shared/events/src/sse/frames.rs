//! A run stream's frames as text (docs/reference/runs.md#event-stream).

use std::time::Duration;

use ars_types::UnixMillis;
use serde::Serialize;
use serde_json::json;

/// First bytes in every stream: proxies then forward the head, and clients know the reconnect
/// delay.
pub const PREAMBLE: &str = "retry: 3000\n\n";
/// A comment that keeps an idle connection open.
pub const KEEPALIVE: &str = ": keep-alive\n\n";
/// Interval between keepalive comments.
pub const KEEPALIVE_EVERY: Duration = Duration::from_secs(20);
/// Maximum number of digits in a `Last-Event-ID`.
const EVENT_ID_DIGITS_MAX: usize = 15;

/// Returns an event's frame. `json` is the stored form of `Event`.
pub fn event(seq: u64, json: &str) -> String {
    format!("id: {seq}\n{}", data(json))
}

/// Returns an unnamed frame without id. A payload with several lines stays a single payload.
pub fn data(payload: &str) -> String {
    let mut frame = String::with_capacity(payload.len() + 8);
    // A lone CR inside a payload would end the line.
    for line in payload.replace("\r\n", "\n").split(['\n', '\r']) {
        frame.push_str("data: ");
        frame.push_str(line);
        frame.push('\n');
    }
    frame.push('\n');
    frame
}

/// Returns the frame that reports the agent's end; span records may follow.
pub fn finished(finished_at: UnixMillis) -> String {
    named(
        "finished",
        &json!({ "finishedAt": finished_at }).to_string(),
    )
}

/// Returns the frame that ends a live stream.
pub fn end_live(sealed_at: UnixMillis, reply_ok: Option<bool>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Payload {
        sealed_at: UnixMillis,
        #[serde(skip_serializing_if = "Option::is_none")]
        reply_ok: Option<bool>,
    }
    named(
        "end",
        &json!(Payload {
            sealed_at,
            reply_ok
        })
        .to_string(),
    )
}

/// Returns the frame that ends a stored stream.
pub fn end_stored() -> String {
    named("end", "{}")
}

/// Returns the frame that starts a live stream when the replay omits these events.
pub fn replay_elided(from_seq: u64, to_seq: u64) -> String {
    named(
        "replay_elided",
        &json!({ "fromSeq": from_seq, "toSeq": to_seq }).to_string(),
    )
}

/// Returns the frame that reports missing events in a stored stream.
pub fn replay_note(summary: &str) -> String {
    data(&json!({ "type": "replay_note", "summary": summary }).to_string())
}

/// Returns the seq after which a client resumes, or 0 unless the value has 1 to 15 digits.
pub fn parse_last_event_id(value: &str) -> u64 {
    let valid =
        value.len() <= EVENT_ID_DIGITS_MAX && value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| valid).unwrap_or(0)
}

fn named(name: &str, payload: &str) -> String {
    format!("event: {name}\n{}", data(payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_bytes_are_pinned() {
        assert_eq!(PREAMBLE, "retry: 3000\n\n");
        assert!(KEEPALIVE.starts_with(':') && KEEPALIVE.ends_with("\n\n"));
        assert_eq!(
            event(7, r#"{"type":"answer"}"#),
            "id: 7\ndata: {\"type\":\"answer\"}\n\n"
        );
        assert_eq!(finished(5), "event: finished\ndata: {\"finishedAt\":5}\n\n");
        assert_eq!(
            end_live(6, Some(true)),
            "event: end\ndata: {\"sealedAt\":6,\"replyOk\":true}\n\n"
        );
        assert_eq!(end_live(6, None), "event: end\ndata: {\"sealedAt\":6}\n\n");
        assert_eq!(end_stored(), "event: end\ndata: {}\n\n");
        assert_eq!(
            replay_elided(2, 9),
            "event: replay_elided\ndata: {\"fromSeq\":2,\"toSeq\":9}\n\n"
        );
        assert_eq!(
            replay_note("3 events were not kept"),
            "data: {\"type\":\"replay_note\",\"summary\":\"3 events were not kept\"}\n\n"
        );
    }

    #[test]
    fn payload_cannot_add_fields() {
        assert_eq!(
            data("a\nevent: end\r\nid: 9\rb"),
            "data: a\ndata: event: end\ndata: id: 9\ndata: b\n\n"
        );
    }

    #[test]
    fn invalid_last_event_id_is_zero() {
        assert_eq!(parse_last_event_id("7"), 7);
        assert_eq!(parse_last_event_id("000000000000012"), 12);
        assert_eq!(parse_last_event_id("999999999999999"), 999_999_999_999_999);
        for bad in [
            "",
            "1000000000000000",
            "+7",
            "-7",
            " 7",
            "7 ",
            "7x",
            "٧",
            "0x7",
        ] {
            assert_eq!(parse_last_event_id(bad), 0, "{bad:?}");
        }
    }
}
