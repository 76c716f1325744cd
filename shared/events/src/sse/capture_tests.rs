//! Captures as people save them: whole, cut off, with the response's head, with other line ends.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::sse::frames;

fn read(text: &str) -> Capture {
    Capture::read(text.as_bytes())
}

fn kinds(capture: &Capture) -> Vec<&str> {
    capture.events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn json_lines_are_read_and_what_is_none_is_counted() {
    let text =
        "{\"type\":\"input\"}\n\nnot json\n{\"no\":\"type\"}\n[1]\n{\"type\":7}\n{\"type\":\"answer\"}\n";
    let capture = read(text);
    assert_eq!((kinds(&capture), capture.skipped), (vec!["input", "answer"], 4));
    assert_eq!(read(&text.replace('\n', "\r\n")), capture);
    assert_eq!(read(&format!("\u{feff}{text}")), capture);
}

#[test]
fn a_line_that_was_cut_off_is_counted() {
    let capture = read("{\"type\":\"input\"}\n{\"type\":\"tool_ca");
    assert_eq!((kinds(&capture), capture.skipped), (vec!["input"], 1));
}

#[test]
fn a_stream_is_read_as_the_server_frames_it() {
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
fn an_event_over_several_data_lines_is_one() {
    let capture = read("id: 1\ndata: {\ndata:   \"type\": \"answer\",\ndata:   \"text\": \"a\"\ndata: }\n\n");
    assert_eq!(capture.events, [json!({ "type": "answer", "text": "a" })]);
}

#[test]
fn the_head_of_the_response_is_passed_over() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let capture = read(&format!("{head}data: {{\"type\":\"input\"}}\n\n"));
    assert_eq!((kinds(&capture), capture.skipped), (vec!["input"], 0));
}

#[test]
fn the_last_event_counts_when_only_its_blank_line_is_missing() {
    let whole = "data: {\"type\":\"input\"}\n\ndata: {\"type\":\"answer\"}";
    for text in [whole.to_owned(), format!("{whole}\n"), format!("{whole}\r\n")] {
        assert_eq!((kinds(&read(&text)), read(&text).skipped), (vec!["input", "answer"], 0), "{text:?}");
    }
    let cut = read(&whole[..whole.len() - 4]);
    assert_eq!((kinds(&cut), cut.skipped), (vec!["input"], 1));
}

#[test]
fn a_stream_whose_beginning_is_missing_is_still_one() {
    let capture = read("ut\"}\n\n: keep-alive\n\ndata: {\"type\":\"answer\"}\n\n");
    assert_eq!((kinds(&capture), capture.skipped), (vec!["answer"], 0));
}

#[test]
fn a_stream_without_events_and_an_empty_file_have_none() {
    let capture = read(&[frames::PREAMBLE, frames::KEEPALIVE].concat());
    assert_eq!(capture, Capture::default());
    assert_eq!(read(" \n\n"), Capture::default());
}

#[test]
fn a_nesting_that_is_too_deep_is_skipped() {
    let deep = format!("{{\"type\":\"a\",\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(read(&deep), Capture { skipped: 1, ..Capture::default() });
}

proptest! {
    #[test]
    fn a_stream_cut_off_anywhere_yields_a_prefix_of_its_events(cut in 0_usize..400) {
        let events: Vec<_> = (1..=8).map(|seq| json!({ "type": "answer", "seq": seq, "text": "é" })).collect();
        let framed = (1..).zip(&events).map(|(seq, event)| frames::event(seq, &event.to_string()));
        let stream = framed.collect::<String>();
        let capture = Capture::read(&stream.as_bytes()[..cut.min(stream.len())]);
        prop_assert!(events.starts_with(&capture.events));
        prop_assert!(capture.skipped <= 1);
    }
}
