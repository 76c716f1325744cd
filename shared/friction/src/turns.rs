//! A stream's model turns: their times and the events they produced.
//!
//! From `model.turn` spans; in legacy streams from `turn` events, else by the gap rule: from an
//! input or a result to the next call, text or answer.

use crate::{
    intervals::Interval,
    reading::{Event, EventKind},
    spans::{Span, SpanTime},
};

/// Span name for a model turn.
pub(crate) const MODEL_TURN: &str = "model.turn";

/// An ended model turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) interval: Interval,
    /// Index of the event it produced, or of the turn record.
    pub(crate) index: usize,
}

/// Returns the turns recorded as spans.
pub(crate) fn recorded(events: &[Event<'_>], spans: &[Span<'_>]) -> Vec<Turn> {
    let products = next_products(events);
    let ended = spans
        .iter()
        .filter(|span| span.name == MODEL_TURN)
        .filter_map(|span| match span.time {
            SpanTime::Ended(interval, index) => Some((interval, index)),
            SpanTime::Open(_) | SpanTime::Untimed => None,
        });
    ended
        .map(|(interval, index)| Turn {
            interval,
            index: products[index],
        })
        .collect()
}

/// Returns a legacy stream's turns.
pub(crate) fn legacy(events: &[Event<'_>]) -> Vec<Turn> {
    let products = next_products(events);
    let recorded: Vec<_> = events
        .iter()
        .zip(products)
        .filter_map(|(event, index)| match event.kind {
            EventKind::Turn { interval } => Some((interval, index)),
            _ => None,
        })
        .collect();
    if recorded.is_empty() {
        return by_gaps(events);
    }
    recorded
        .into_iter()
        .filter_map(|(interval, index)| {
            Some(Turn {
                interval: interval?,
                index,
            })
        })
        .collect()
}

fn by_gaps(events: &[Event<'_>]) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut since = None;
    for (index, event) in events.iter().enumerate() {
        if matches!(event.kind, EventKind::Input | EventKind::Result { .. }) {
            since = event.at;
        } else if event.is_product() {
            let gap = Interval::between(since.take(), event.at);
            turns.extend(gap.map(|interval| Turn { interval, index }));
        }
    }
    turns
}

/// Returns for each event the next event that a model turn produced, or the event itself.
fn next_products(events: &[Event<'_>]) -> Vec<usize> {
    let mut next = None;
    let mut products: Vec<_> = events
        .iter()
        .enumerate()
        .rev()
        .map(|(index, event)| {
            if event.is_product() {
                next = Some(index);
            }
            next.unwrap_or(index)
        })
        .collect();
    products.reverse();
    products
}
