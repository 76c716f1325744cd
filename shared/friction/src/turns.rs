//! The model turns of a stream: when each was and which event it produced.
//!
//! From `model.turn` spans; in legacy streams from `turn` events, else by the gap rule of state-worker supplement
//! section 8.3: from an input or a result to the next call, prose or answer.

use crate::{
    intervals::Interval,
    reading::{Event, Seen},
    spans::{Span, SpanTime},
};

/// The span of a model turn.
pub(crate) const MODEL_TURN: &str = "model.turn";

/// One model turn that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) interval: Interval,
    /// The event it produced; its own record when it produced none.
    pub(crate) index: usize,
}

/// The turns that spans tell of.
pub(crate) fn recorded(events: &[Event<'_>], spans: &[Span<'_>]) -> Vec<Turn> {
    let products = next_products(events);
    let ended = spans.iter().filter(|span| span.name == MODEL_TURN).filter_map(|span| match span.time {
        SpanTime::Ended(interval, index) => Some((interval, index)),
        SpanTime::Open(_) | SpanTime::Untimed => None,
    });
    ended.map(|(interval, index)| Turn { interval, index: products[index] }).collect()
}

/// The turns of a legacy stream.
pub(crate) fn legacy(events: &[Event<'_>]) -> Vec<Turn> {
    let products = next_products(events);
    let told: Vec<_> = events
        .iter()
        .zip(products)
        .filter_map(|(event, index)| match event.seen {
            Seen::Turn { interval } => Some((interval, index)),
            _ => None,
        })
        .collect();
    if told.is_empty() {
        return by_gaps(events);
    }
    told.into_iter().filter_map(|(interval, index)| Some(Turn { interval: interval?, index })).collect()
}

fn by_gaps(events: &[Event<'_>]) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut since = None;
    for (index, event) in events.iter().enumerate() {
        if matches!(event.seen, Seen::Input | Seen::Result { .. }) {
            since = event.at;
        } else if event.is_product() {
            let gap = Interval::between(since.take(), event.at);
            turns.extend(gap.map(|interval| Turn { interval, index }));
        }
    }
    turns
}

/// For each event, the next one that a model turn produced; itself when none follows.
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
