//! Tests missing events, one test per loss source.

use serde_json::{Value, json};

use super::*;
use crate::reading;

const WINDOW: Interval = Interval { start: 0, end: 100 };

/// Start and end in milliseconds.
type Pairs = Vec<(i64, i64)>;

/// Returns the lost and the elided intervals.
fn losses(events: &[Value], options: AnalysisOptions) -> (Pairs, Pairs) {
    let events: Vec<_> = events.iter().map(reading::read).collect();
    let losses = read(
        &events,
        &AnalysisOptions {
            window: Some(WINDOW),
            ..options
        },
    );
    let pairs = |intervals: &[Interval]| intervals.iter().map(|gap| (gap.start, gap.end)).collect();
    (pairs(&losses.lost), pairs(&losses.elided))
}

fn event(seq: u64, at: i64) -> Value {
    json!({"type": "input", "seq": seq, "at": at})
}

#[test]
fn seq_gap_is_lost_between_stamps() {
    let events = [event(1, 10), event(2, 20), event(5, 50), event(6, 60)];
    assert_eq!(
        losses(&events, AnalysisOptions::default()),
        (vec![(20, 50)], vec![])
    );
}

#[test]
fn seq_gap_extends_to_the_next_stamp() {
    let events = [
        event(1, 10),
        json!({"type": "input", "seq": 4}),
        json!({"type": "later", "at": 30}),
        event(8, 50),
    ];
    assert_eq!(
        losses(&events, AnalysisOptions::default()),
        (vec![(10, 50)], vec![])
    );
    assert_eq!(
        losses(&events[..2], AnalysisOptions::default()),
        (vec![(10, 100)], vec![])
    );
}

#[test]
fn trimmed_head_is_lost_from_window_start() {
    assert_eq!(
        losses(&[event(7, 30)], AnalysisOptions::default()),
        (vec![(0, 30)], vec![])
    );
    let unnumbered = [json!({"type": "input", "at": 30})];
    assert_eq!(
        losses(&unnumbered, AnalysisOptions::default()),
        (vec![], vec![])
    );
    let trimmed = AnalysisOptions {
        head_trimmed: true,
        ..AnalysisOptions::default()
    };
    assert_eq!(losses(&unnumbered, trimmed), (vec![(0, 30)], vec![]));
}

#[test]
fn dropped_spans_are_lost_at_their_note() {
    let note = |from: Value, to: Value| json!({"type": "run_note", "kind": "spans_dropped", "from": from, "to": to, "at": 40});
    let first = json!({"type": "input", "at": 10});
    let said = [first.clone(), note(json!(20), json!(30))];
    assert_eq!(
        losses(&said, AnalysisOptions::default()),
        (vec![(20, 30)], vec![])
    );
    let unsaid = [first, note(Value::Null, Value::Null)];
    assert_eq!(
        losses(&unsaid, AnalysisOptions::default()),
        (vec![(10, 40)], vec![])
    );
}

#[test]
fn gap_inside_elided_range_is_not_loaded() {
    let elided = AnalysisOptions {
        elided: Some(SeqRange { from: 1, to: 4 }),
        ..AnalysisOptions::default()
    };
    assert_eq!(losses(&[event(5, 50)], elided), (vec![], vec![(0, 50)]));
    assert_eq!(
        losses(&[event(1, 10), event(5, 50)], elided),
        (vec![], vec![(10, 50)])
    );
    assert_eq!(
        losses(&[event(1, 10), event(7, 50)], elided),
        (vec![(10, 50)], vec![])
    );
}

#[test]
fn repeated_seqs_are_no_gap() {
    let events = [
        event(1, 10),
        event(2, 20),
        event(1, 5),
        event(2, 6),
        event(3, 30),
        event(u64::MAX, 40),
    ];
    assert_eq!(
        losses(&events, AnalysisOptions::default()),
        (vec![(30, 40)], vec![])
    );
}

#[test]
fn unstamped_gaps_merge_as_lost() {
    let unstamped = |seq: u64| json!({"type": "input", "seq": seq});
    let elided = AnalysisOptions {
        elided: Some(SeqRange { from: 1, to: 4 }),
        ..AnalysisOptions::default()
    };
    assert_eq!(
        losses(&[event(1, 10), unstamped(3), event(5, 50)], elided),
        (vec![], vec![(10, 50)])
    );
    assert_eq!(
        losses(&[event(1, 10), unstamped(3), event(9, 50)], elided),
        (vec![(10, 50)], vec![])
    );
    let elided = AnalysisOptions {
        elided: Some(SeqRange { from: 6, to: 8 }),
        ..AnalysisOptions::default()
    };
    assert_eq!(
        losses(&[event(1, 10), unstamped(5), event(9, 50)], elided),
        (vec![(10, 50)], vec![])
    );
}

#[test]
fn seqs_override_the_head_option() {
    let elided = Some(SeqRange { from: 1, to: 4 });
    let both = AnalysisOptions {
        elided,
        head_trimmed: true,
        ..AnalysisOptions::default()
    };
    assert_eq!(losses(&[event(5, 50)], both), (vec![], vec![(0, 50)]));
}

#[test]
fn gap_across_a_clock_jump_is_empty() {
    assert_eq!(
        losses(&[event(1, 50), event(5, 20)], AnalysisOptions::default()),
        (vec![(50, 50)], vec![])
    );
}
