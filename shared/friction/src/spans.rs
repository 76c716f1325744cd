//! A stream's spans: start and end records joined by id, each with a depth.
//!
//! If a parent is lost, the children become roots, and a parent cycle is cut where it closes:
//! malformed input may give a wrong depth, but never a loop.

use std::collections::HashMap;

use crate::{
    intervals::Interval,
    reading::{Event, EventKind},
    work,
};

/// A span in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    /// Number of enclosing spans.
    pub(crate) depth: u32,
    /// When the span was open, as far as known.
    pub(crate) time: SpanTime,
}

/// When a span was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanTime {
    /// It ended with the event at this index.
    Ended(Interval, usize),
    /// It has no end record.
    Open(i64),
    /// It has no usable time.
    Untimed,
}

/// Returns every span in the stream, in order of first mention.
pub(crate) fn read<'a>(events: &[Event<'a>]) -> Vec<Span<'a>> {
    let mut spans: Vec<Span<'a>> = Vec::new();
    let mut parents: Vec<Option<&'a str>> = Vec::new();
    let mut by_id: HashMap<&'a str, usize> = HashMap::new();
    for (index, event) in events.iter().enumerate() {
        let (id, parent, name, ended) = match event.kind {
            EventKind::SpanStart { id, parent, name } => (id, parent, name, None),
            EventKind::SpanEnd {
                id,
                parent,
                name,
                interval,
            } => (id, parent, name, Some(interval)),
            _ => continue,
        };
        // Records without an id are not joined.
        let position = match by_id.get(id) {
            Some(position) if !id.is_empty() => *position,
            _ => {
                by_id.insert(id, spans.len());
                let time = match ended {
                    None => event.at.map_or(SpanTime::Untimed, SpanTime::Open),
                    Some(_) => SpanTime::Untimed,
                };
                spans.push(Span {
                    id,
                    name,
                    depth: 0,
                    time,
                });
                parents.push(parent.filter(|parent| !parent.is_empty()));
                spans.len() - 1
            }
        };
        if let Some(interval) = ended {
            end(&mut spans[position], interval, event.at, index);
        }
    }
    let parents: Vec<_> = parents
        .into_iter()
        .map(|parent| parent.and_then(|id| by_id.get(id).copied()))
        .collect();
    for (span, depth) in spans.iter_mut().zip(depths(&parents)) {
        span.depth = depth;
    }
    spans
}

/// Uses the end record's own times, else the two records' stamps.
fn end(span: &mut Span<'_>, interval: Option<Interval>, at: Option<i64>, index: usize) {
    let from = match span.time {
        SpanTime::Ended(..) => return,
        SpanTime::Open(start) => Some(start),
        SpanTime::Untimed => None,
    };
    let interval = interval.or_else(|| Interval::between(from, at));
    span.time = interval.map_or(SpanTime::Untimed, |interval| {
        SpanTime::Ended(interval, index)
    });
}

/// Returns each node's depth in a forest given by parents. Each node is visited once.
fn depths(parents: &[Option<usize>]) -> Vec<u32> {
    let mut depths: Vec<Option<u32>> = vec![None; parents.len()];
    let mut on_path = vec![false; parents.len()];
    let mut path = Vec::new();
    for node in 0..parents.len() {
        let mut next = Some(node);
        let mut depth = 0;
        while let Some(node) = next {
            work::step();
            if let Some(known) = depths[node] {
                depth = known + 1;
                break;
            }
            if on_path[node] {
                break;
            }
            on_path[node] = true;
            path.push(node);
            next = parents[node];
        }
        while let Some(node) = path.pop() {
            depths[node] = Some(depth);
            depth += 1;
        }
    }
    depths.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::reading;

    fn spans_of(events: &[Value]) -> Vec<(String, u32, SpanTime)> {
        let events: Vec<_> = events.iter().map(reading::read).collect();
        read(&events)
            .into_iter()
            .map(|span| (span.id.to_owned(), span.depth, span.time))
            .collect()
    }

    #[test]
    fn records_are_joined_under_their_parents() {
        let spans = spans_of(&[
            json!({"type": "span_start", "spanId": "a", "name": "request", "at": 1}),
            json!({"type": "span_start", "spanId": "b", "parentSpanId": "a", "name": "run.agent", "at": 2}),
            json!({"type": "span_end", "spanId": "b", "name": "run.agent", "at": 9}),
            json!({"type": "span_end", "spanId": "c", "parentSpanId": "b", "name": "x", "startedAt": 3, "durationMs": 4}),
            json!({"type": "span_end", "spanId": "d", "parentSpanId": "lost", "name": "x", "at": 5}),
        ]);
        let ended = |start, end, index| SpanTime::Ended(Interval { start, end }, index);
        assert_eq!(
            spans,
            [
                ("a".to_owned(), 0, SpanTime::Open(1)),
                ("b".to_owned(), 1, ended(2, 9, 2)),
                ("c".to_owned(), 2, ended(3, 7, 3)),
                ("d".to_owned(), 0, SpanTime::Untimed),
            ]
        );
    }

    #[test]
    fn circular_parents_are_cut() {
        assert_eq!(
            depths(&[Some(1), Some(2), Some(0), Some(0), Some(4)]),
            [2, 1, 0, 3, 0]
        );
    }
}
