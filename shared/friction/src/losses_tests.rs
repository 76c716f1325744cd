//! Tests of what a stream is known to miss: each source of state-worker supplement section 8.3.

use serde_json::{Value, json};

use super::*;
use crate::reading;

const WINDOW: Interval = Interval { start: 0, end: 100 };

/// From and to, in milliseconds.
type Pairs = Vec<(i64, i64)>;

/// The lost stretches and the elided ones.
fn losses(events: &[Value], options: Options) -> (Pairs, Pairs) {
    let events: Vec<_> = events.iter().map(reading::read).collect();
    let losses = read(&events, &Options { window: Some(WINDOW), ..options });
    let pairs = |intervals: &[Interval]| intervals.iter().map(|gap| (gap.start, gap.end)).collect();
    (pairs(&losses.lost), pairs(&losses.elided))
}

fn event(seq: u64, at: i64) -> Value {
    json!({"type": "input", "seq": seq, "at": at})
}

#[test]
fn a_gap_in_the_seqs_is_lost_from_stamp_to_stamp() {
    let events = [event(1, 10), event(2, 20), event(5, 50), event(6, 60)];
    assert_eq!(losses(&events, Options::default()), (vec![(20, 50)], vec![]));
}

#[test]
fn a_gap_beside_unstamped_events_reaches_to_the_next_stamp() {
    let events =
        [event(1, 10), json!({"type": "input", "seq": 4}), json!({"type": "later", "at": 30}), event(8, 50)];
    assert_eq!(losses(&events, Options::default()), (vec![(10, 50)], vec![]));
    assert_eq!(losses(&events[..2], Options::default()), (vec![(10, 100)], vec![]));
}

#[test]
fn a_trimmed_head_is_lost_from_the_windows_start() {
    assert_eq!(losses(&[event(7, 30)], Options::default()), (vec![(0, 30)], vec![]));
    let unnumbered = [json!({"type": "input", "at": 30})];
    assert_eq!(losses(&unnumbered, Options::default()), (vec![], vec![]));
    let trimmed = Options { head_trimmed: true, ..Options::default() };
    assert_eq!(losses(&unnumbered, trimmed), (vec![(0, 30)], vec![]));
}

#[test]
fn dropped_spans_are_lost_where_their_note_says_else_just_before_it() {
    let note = |from: Value, to: Value| json!({"type": "run_note", "kind": "spans_dropped", "from": from, "to": to, "at": 40});
    let first = json!({"type": "input", "at": 10});
    let said = [first.clone(), note(json!(20), json!(30))];
    assert_eq!(losses(&said, Options::default()), (vec![(20, 30)], vec![]));
    let unsaid = [first, note(Value::Null, Value::Null)];
    assert_eq!(losses(&unsaid, Options::default()), (vec![(10, 40)], vec![]));
}

#[test]
fn a_gap_wholly_inside_the_elided_range_is_not_loaded() {
    let elided = Options { elided: Some(SeqRange { from: 1, to: 4 }), ..Options::default() };
    assert_eq!(losses(&[event(5, 50)], elided), (vec![], vec![(0, 50)]));
    assert_eq!(losses(&[event(1, 10), event(5, 50)], elided), (vec![], vec![(10, 50)]));
    assert_eq!(losses(&[event(1, 10), event(7, 50)], elided), (vec![(10, 50)], vec![]));
}

#[test]
fn seqs_that_repeat_or_go_back_are_no_gap() {
    let events = [event(1, 10), event(2, 20), event(1, 5), event(2, 6), event(3, 30), event(u64::MAX, 40)];
    assert_eq!(losses(&events, Options::default()), (vec![(30, 40)], vec![]));
}

#[test]
fn gaps_without_a_stamp_between_them_are_one_and_lost_when_either_is() {
    let unstamped = |seq: u64| json!({"type": "input", "seq": seq});
    let elided = Options { elided: Some(SeqRange { from: 1, to: 4 }), ..Options::default() };
    assert_eq!(losses(&[event(1, 10), unstamped(3), event(5, 50)], elided), (vec![], vec![(10, 50)]));
    assert_eq!(losses(&[event(1, 10), unstamped(3), event(9, 50)], elided), (vec![(10, 50)], vec![]));
    let elided = Options { elided: Some(SeqRange { from: 6, to: 8 }), ..Options::default() };
    assert_eq!(losses(&[event(1, 10), unstamped(5), event(9, 50)], elided), (vec![(10, 50)], vec![]));
}

#[test]
fn what_the_seqs_say_of_the_head_stands_above_the_callers_word() {
    let elided = Some(SeqRange { from: 1, to: 4 });
    let both = Options { elided, head_trimmed: true, ..Options::default() };
    assert_eq!(losses(&[event(5, 50)], both), (vec![], vec![(0, 50)]));
}

#[test]
fn a_gap_across_a_clock_that_went_back_takes_no_time() {
    assert_eq!(losses(&[event(1, 50), event(5, 20)], Options::default()), (vec![(50, 50)], vec![]));
}
