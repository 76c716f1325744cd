//! Tests the byte budget.

use ars_types::{RunId, RunStatus, Visibility};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn record(events: Vec<Value>) -> RunRecord {
    RunRecord {
        id: RunId::parse("r").unwrap(),
        label: None,
        agent: None,
        model: None,
        channel_id: "c".into(),
        user_id: "u".into(),
        thread_key: "t".into(),
        channel_visibility: Visibility::Public,
        repo: None,
        started_at: 0,
        finished_at: 1,
        received_at: None,
        sealed_at: None,
        reply_ok: None,
        step_count: None,
        schema: None,
        status: RunStatus::Completed,
        event_count: events.len() as u64,
        stored_event_count: events.len() as u64,
        truncated: false,
        events,
        diagnosis: json!({}),
        extra: Map::new(),
    }
}

fn text_event(seq: usize, bytes: usize) -> Value {
    json!({ "type": "assistant", "text": "x".repeat(bytes), "seq": seq })
}

fn span(kind: &str, id: &str, name: &str, bytes: usize) -> Value {
    json!({ "type": kind, "spanId": id, "name": name, "error": "e".repeat(bytes) })
}

fn seqs(record: &RunRecord) -> Vec<u64> {
    record
        .events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .collect()
}

fn spans(record: &RunRecord) -> Vec<&str> {
    record.events.iter().filter_map(span_of).collect()
}

#[test]
fn fitting_record_is_unchanged() {
    let mut small = record(vec![text_event(1, 10)]);
    assert_eq!(fit(small.clone()), small);
    small.truncated = true;
    assert_eq!(fit(small.clone()), small, "the flag is not touched either");
}

#[test]
fn large_event_is_cut_to_exactly_its_limit() {
    let cut = fit(record(vec![text_event(1, 70_000)]));
    let text = cut.events[0].to_string();
    assert_eq!(text.len(), MAX_EVENT_BYTES);
    assert!(text.contains("x…\""));
    assert_eq!((cut.truncated, cut.stored_event_count), (false, 1));
    let at_limit = text_event(
        1,
        70_000 - (text_event(1, 70_000).to_string().len() - MAX_EVENT_BYTES),
    );
    assert_eq!(fit(record(vec![at_limit.clone()])).events[0], at_limit);
}

#[test]
fn cutting_counts_escapes_and_whole_characters() {
    for text in [
        "\n\"\\".repeat(30_000),
        "é🦀".repeat(20_000),
        "\u{1}".repeat(20_000),
    ] {
        let event = json!({ "type": "assistant", "text": text });
        let cut = fit(record(vec![event])).events[0].to_string().len();
        assert!(
            (MAX_EVENT_BYTES - 6..=MAX_EVENT_BYTES).contains(&cut),
            "{cut}"
        );
    }
}

#[test]
fn summary_is_cut_without_text() {
    let event = json!({ "type": "tool_result", "summary": "s".repeat(70_000) });
    assert_eq!(
        fit(record(vec![event])).events[0].to_string().len(),
        MAX_EVENT_BYTES
    );
    let both = json!({ "type": "x", "text": "t", "summary": "s".repeat(70_000) });
    assert_eq!(fit(record(vec![both])).events[0]["text"], "…");
    let neither = json!({ "type": "x", "output": "o".repeat(70_000) });
    assert_eq!(fit(record(vec![neither.clone()])).events[0], neither);
}

#[test]
fn middle_spans_go_first_in_pairs() {
    let mut events = vec![
        json!({ "type": "input", "text": "please", "seq": 1 }),
        span("span_start", "request", "request", 60_000),
        span("span_start", "first", "tool.bash", 60_000),
        span("span_end", "first", "tool.bash", 60_000),
    ];
    events.extend((2..24).map(|seq| text_event(seq, 60_000)));
    events.insert(14, span("span_start", "middle", "tool.bash", 60_000));
    events.insert(16, span("span_end", "middle", "tool.bash", 60_000));
    events.push(span("span_end", "request", "request", 60_000));
    // 28 events with 60,000 bytes and a small event: two must go for 26 to fit.
    let cut = fit(record(events.clone()));
    assert_eq!(spans(&cut), ["request", "first", "first", "request"]);
    assert_eq!(
        seqs(&cut),
        (1..24).collect::<Vec<_>>(),
        "no content event went"
    );
    assert_eq!(
        (cut.truncated, cut.event_count, cut.stored_event_count),
        (true, 29, 27)
    );
    // With more content, the other spans go too, except those in the head.
    events.extend((24..26).map(|seq| text_event(seq, 60_000)));
    let cut = fit(record(events));
    assert_eq!(spans(&cut), ["request", "request"]);
    assert_eq!(seqs(&cut), (1..26).collect::<Vec<_>>());
}

#[test]
fn middle_events_go_and_ends_stay() {
    let cut = fit(record(
        (1..=40).map(|seq| text_event(seq, 60_000)).collect(),
    ));
    let kept = seqs(&cut);
    // 26 events fit, alternating between the first and the last.
    assert_eq!(kept, (1..=13).chain(28..=40).collect::<Vec<_>>());
    assert_eq!(
        (cut.truncated, cut.event_count, cut.stored_event_count),
        (true, 40, 26)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_record_fits_and_stays_ordered(
        sizes in prop::collection::vec((0_usize..90_000, 0_u8..4), 0..60),
    ) {
        let events = sizes.iter().enumerate().map(|(seq, (bytes, kind))| match kind {
            0 => json!({ "type": "span_start", "spanId": format!("s{}", seq / 2), "text": "é".repeat(bytes / 2), "seq": seq }),
            1 => json!({ "type": "span_end", "spanId": format!("s{}", seq / 2), "summary": "\"".repeat(*bytes), "seq": seq }),
            2 => json!({ "type": "input", "text": "i".repeat(*bytes), "seq": seq }),
            _ => text_event(seq, *bytes),
        });
        let source = record(events.collect());
        let cut = fit(source.clone());
        prop_assert!(size(&cut) <= MAX_RECORD_BYTES);
        prop_assert!(cut.events.iter().all(|event| event.to_string().len() <= MAX_EVENT_BYTES));
        prop_assert!(seqs(&cut).is_sorted_by(|a, b| a < b));
        prop_assert_eq!(cut.event_count, source.event_count);
        prop_assert_eq!(cut.stored_event_count, cut.events.len() as u64);
        prop_assert_eq!(cut.truncated, cut.events.len() < source.events.len());
        prop_assert_eq!(fit(cut.clone()), cut.clone());
    }
}

/// Measures the record part that the store measures.
fn head(record: &RunRecord) -> usize {
    size(&RunRecord {
        events: Vec::new(),
        ..record.clone()
    })
}

#[test]
fn large_diagnosis_loses_its_least_severe_findings() {
    let finding = |severity: &str, index: usize| json!({ "category": "retry", "severity": severity, "summary": "s".repeat(300), "eventIndex": index });
    let severities = ["low", "high", "medium"].into_iter().cycle();
    let findings: Vec<_> = severities
        .zip(0..300)
        .map(|(severity, index)| finding(severity, index))
        .collect();
    let totals = json!({ "retry": { "count": 300, "durationMs": 1 } });
    let diagnosis =
        json!({ "findings": findings, "eventCount": 1, "verdict": "v", "byCategory": totals });
    let fitted = fit(RunRecord {
        diagnosis,
        ..record(vec![text_event(1, 10)])
    });
    assert!(
        (MAX_HEAD_BYTES - 400..=MAX_HEAD_BYTES).contains(&head(&fitted)),
        "{}",
        head(&fitted)
    );
    assert_eq!(fitted.diagnosis["byCategory"], totals);
    assert_eq!(fitted.events, [text_event(1, 10)]);
    let kept = fitted.diagnosis["findings"].as_array().unwrap();
    let count = |severity: &str| {
        kept.iter()
            .filter(|finding| finding["severity"] == severity)
            .count()
    };
    assert_eq!((count("high"), count("low")), (100, 0));
    assert!(kept.is_sorted_by_key(|finding| finding["eventIndex"].as_u64()));
}

proptest! {
    #[test]
    fn any_head_fits_and_keeps_its_costs(
        label in 0_usize..80_000, thread in 0_usize..80_000, extras in prop::collection::vec(0_usize..40_000, 0..6),
        findings in 0_usize..2_000, summary in 0_usize..2_000, verdict in 0_usize..80_000,
    ) {
        let finding = json!({ "severity": "low", "summary": "\u{1}".repeat(summary), "tool": "x".repeat(summary) });
        let mut large = record(Vec::new());
        large.label = Some("é\n".repeat(label));
        large.thread_key = "t".repeat(thread);
        large.diagnosis = json!({
            "findings": vec![finding; findings / (summary / 100 + 1)], "verdict": "v".repeat(verdict),
            "later": ["x".repeat(verdict)],
        });
        large.extra.insert(crate::COST.to_owned(), json!(7));
        large.extra.extend(extras.iter().enumerate().map(|(n, bytes)| (format!("later{n}"), json!("y".repeat(*bytes)))));
        let fitted = fit(large.clone());
        prop_assert!(head(&fitted) <= MAX_HEAD_BYTES, "{}", head(&fitted));
        prop_assert_eq!(&fitted.extra[crate::COST], &json!(7));
        if head(&large) <= MAX_HEAD_BYTES {
            prop_assert_eq!(fitted, large);
        }
    }
}
