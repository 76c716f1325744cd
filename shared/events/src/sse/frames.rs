//! The frames a run's stream consists of, as text ready to send (bot supplement section 11.3).

use std::time::Duration;

use ars_types::UnixMillis;
use serde::Serialize;
use serde_json::json;

/// First bytes of every stream, so that proxies pass the head on; also the client's delay before it reconnects.
pub const PREAMBLE: &str = "retry: 3000\n\n";
/// A comment that keeps an idle connection open.
pub const KEEPALIVE: &str = ": keep-alive\n\n";
/// How often it is sent.
pub const KEEPALIVE_EVERY: Duration = Duration::from_secs(20);
/// Most digits of a `Last-Event-ID`.
const EVENT_ID_DIGITS_MAX: usize = 15;

/// An event of the run. `json` is the stored form of `Event`.
pub fn event(seq: u64, json: &str) -> String {
    format!("id: {seq}\n{}", data(json))
}

/// An unnamed frame without id. A payload of several lines, which compact JSON never is, stays one payload.
pub fn data(payload: &str) -> String {
    let mut frame = String::with_capacity(payload.len() + 8);
    // The three line ends of the format: a lone CR inside a payload would otherwise end its line.
    for line in payload.replace("\r\n", "\n").split(['\n', '\r']) {
        frame.push_str("data: ");
        frame.push_str(line);
        frame.push('\n');
    }
    frame.push('\n');
    frame
}

/// The agent has stopped; the stream stays open for span records.
pub fn finished(finished_at: UnixMillis) -> String {
    named("finished", &json!({ "finishedAt": finished_at }).to_string())
}

/// The last frame of a live stream.
pub fn end_live(sealed_at: UnixMillis, reply_ok: Option<bool>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Payload {
        sealed_at: UnixMillis,
        #[serde(skip_serializing_if = "Option::is_none")]
        reply_ok: Option<bool>,
    }
    named("end", &json!(Payload { sealed_at, reply_ok }).to_string())
}

/// The last frame of a stored stream.
pub fn end_stored() -> String {
    named("end", "{}")
}

/// First of a live stream: these retained events are left out of the replay.
pub fn replay_elided(from_seq: u64, to_seq: u64) -> String {
    named("replay_elided", &json!({ "fromSeq": from_seq, "toSeq": to_seq }).to_string())
}

/// In a stored stream: what is missing at this place.
pub fn replay_note(summary: &str) -> String {
    data(&json!({ "type": "replay_note", "summary": summary }).to_string())
}

/// The seq after which a client resumes; anything but 1 to 15 digits asks for everything.
pub fn parse_last_event_id(value: &str) -> u64 {
    let valid = value.len() <= EVENT_ID_DIGITS_MAX && value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| valid).unwrap_or(0)
}

fn named(name: &str, payload: &str) -> String {
    format!("event: {name}\n{}", data(payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_every_frame_are_pinned() {
        assert_eq!(PREAMBLE, "retry: 3000\n\n");
        assert!(KEEPALIVE.starts_with(':') && KEEPALIVE.ends_with("\n\n"));
        assert_eq!(event(7, r#"{"type":"answer"}"#), "id: 7\ndata: {\"type\":\"answer\"}\n\n");
        assert_eq!(finished(5), "event: finished\ndata: {\"finishedAt\":5}\n\n");
        assert_eq!(end_live(6, Some(true)), "event: end\ndata: {\"sealedAt\":6,\"replyOk\":true}\n\n");
        assert_eq!(end_live(6, None), "event: end\ndata: {\"sealedAt\":6}\n\n");
        assert_eq!(end_stored(), "event: end\ndata: {}\n\n");
        assert_eq!(replay_elided(2, 9), "event: replay_elided\ndata: {\"fromSeq\":2,\"toSeq\":9}\n\n");
        assert_eq!(
            replay_note("3 events were not kept"),
            "data: {\"type\":\"replay_note\",\"summary\":\"3 events were not kept\"}\n\n"
        );
    }

    #[test]
    fn a_payload_cannot_add_fields_to_its_frame() {
        assert_eq!(data("a\nevent: end\r\nid: 9\rb"), "data: a\ndata: event: end\ndata: id: 9\ndata: b\n\n");
    }

    #[test]
    fn a_last_event_id_is_one_to_fifteen_digits_and_else_zero() {
        assert_eq!(parse_last_event_id("7"), 7);
        assert_eq!(parse_last_event_id("000000000000012"), 12);
        assert_eq!(parse_last_event_id("999999999999999"), 999_999_999_999_999);
        for bad in ["", "1000000000000000", "+7", "-7", " 7", "7 ", "7x", "٧", "0x7"] {
            assert_eq!(parse_last_event_id(bad), 0, "{bad:?}");
        }
    }
}
