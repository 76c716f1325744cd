//! Tests captures: complete, truncated, with the response's head, with other line ends.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::sse::frames;

fn read(text: &str) -> Capture {
    Capture::read(text.as_bytes())
}

fn kinds(capture: &Capture) -> Vec<&str> {
    capture
        .events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

#[test]
fn invalid_json_lines_are_counted() {
    let text = "{\"type\":\"input\"}\n\nnot json\n{\"no\":\"type\"}\n[1]\n{\"type\":7}\n{\"type\":\"answer\"}\n";
    let capture = read(text);
    assert_eq!(
        (kinds(&capture), capture.skipped),
        (vec!["input", "answer"], 4)
    );
    assert_eq!(read(&text.replace('\n', "\r\n")), capture);
    assert_eq!(read(&format!("\u{feff}{text}")), capture);
}

#[test]
fn truncated_line_is_counted() {
    let capture = read("{\"type\":\"input\"}\n{\"type\":\"tool_ca");
    assert_eq!((kinds(&capture), capture.skipped), (vec!["input"], 1));
}

#[test]
fn framed_stream_is_parsed() {
    let stream = [
        frames::PREAMBLE.to_owned(),
        frames::replay_elided(2, 9),
        frames::event(1, r#"{"type":"input","seq":1}"#),
        frames::KEEPALIVE.to_owned(),
        frames::replay_note("gap"),
        frames::event(10, r#"{"type":"answer","seq":10}"#),
        frames::finished(1_700_000_000_000),
        frames::end_live(1_700_000_000_005, Some(true)),
    ]
    .concat();
    let capture = read(&stream);
    assert_eq!(kinds(&capture), ["input", "replay_note", "answer"]);
    assert_eq!((capture.skipped, capture.elided), (0, Some((2, 9))));
    assert_eq!(capture.finished_at, Some(1_700_000_000_000));
    for end in ["\r\n", "\r"] {
        assert_eq!(read(&stream.replace('\n', end)), capture, "{end:?}");
    }
}

#[test]
fn several_data_lines_form_one_event() {
    let capture =
        read("id: 1\ndata: {\ndata:   \"type\": \"answer\",\ndata:   \"text\": \"a\"\ndata: }\n\n");
    assert_eq!(capture.events, [json!({ "type": "answer", "text": "a" })]);
}

#[test]
fn response_head_is_skipped() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let capture = read(&format!("{head}data: {{\"type\":\"input\"}}\n\n"));
    assert_eq!((kinds(&capture), capture.skipped), (vec!["input"], 0));
}

#[test]
fn last_event_needs_no_blank_line() {
    let whole = "data: {\"type\":\"input\"}\n\ndata: {\"type\":\"answer\"}";
    for text in [
        whole.to_owned(),
        format!("{whole}\n"),
        format!("{whole}\r\n"),
    ] {
        assert_eq!(
            (kinds(&read(&text)), read(&text).skipped),
            (vec!["input", "answer"], 0),
            "{text:?}"
        );
    }
    let cut = read(&whole[..whole.len() - 4]);
    assert_eq!((kinds(&cut), cut.skipped), (vec!["input"], 1));
}

#[test]
fn stream_without_beginning_is_recognized() {
    let capture = read("ut\"}\n\n: keep-alive\n\ndata: {\"type\":\"answer\"}\n\n");
    assert_eq!((kinds(&capture), capture.skipped), (vec!["answer"], 0));
}

#[test]
fn empty_captures_have_no_events() {
    let capture = read(&[frames::PREAMBLE, frames::KEEPALIVE].concat());
    assert_eq!(capture, Capture::default());
    assert_eq!(read(" \n\n"), Capture::default());
}

#[test]
fn too_deep_nesting_is_skipped() {
    let deep = format!(
        "{{\"type\":\"a\",\"x\":{}{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    assert_eq!(
        read(&deep),
        Capture {
            skipped: 1,
            ..Capture::default()
        }
    );
}

proptest! {
    #[test]
    fn truncated_stream_yields_a_prefix(cut in 0_usize..400) {
        let events: Vec<_> = (1..=8).map(|seq| json!({ "type": "answer", "seq": seq, "text": "é" })).collect();
        let framed = (1..).zip(&events).map(|(seq, event)| frames::event(seq, &event.to_string()));
        let stream = framed.collect::<String>();
        let capture = Capture::read(&stream.as_bytes()[..cut.min(stream.len())]);
        prop_assert!(events.starts_with(&capture.events));
        prop_assert!(capture.skipped <= 1);
    }
}
