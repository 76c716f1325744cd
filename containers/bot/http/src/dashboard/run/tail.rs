//! The newest part of a run's events. Older parts are loaded on demand.

use serde_json::{Value, json};

/// Maximum event bytes on a page, as JSON. The newest event is shown in any case.
const TAIL_MAX_BYTES: usize = 256 << 10;
/// Maximum request characters if the tail does not reach back to it.
const REQUEST_MAX_CHARS: usize = 16_000;

/// Part of a run's events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tail<'e> {
    /// The events before it, newest last.
    earlier: &'e [Value],
    /// The events in this part.
    pub(super) events: &'e [Value],
}

impl<'e> Tail<'e> {
    /// Returns the newest events before a seq.
    pub(crate) fn before(events: &'e [Value], seq: Option<u64>) -> Self {
        let end = seq.map_or(events.len(), |seq| {
            events.partition_point(|event| seq_of(event) < seq)
        });
        let known = events.get(..end).unwrap_or(events);
        let mut bytes = 0;
        let fits = known.iter().rev().take_while(|event| {
            bytes += event.to_string().len();
            bytes <= TAIL_MAX_BYTES
        });
        let count = fits.count().max(1).min(known.len());
        let (earlier, events) = known.split_at(known.len() - count);
        Self { earlier, events }
    }

    /// Returns the first event's seq if there are events before it.
    pub(crate) fn earlier_before(&self) -> Option<u64> {
        self.earlier.last()?;
        self.events.first().map(seq_of)
    }

    /// Returns how many events precede it.
    pub(super) fn earlier_count(&self) -> usize {
        self.earlier.len()
    }

    /// Returns the events with the position before which older events are.
    pub(crate) fn json(&self) -> Value {
        json!({ "events": self.events, "earlierBefore": self.earlier_before() })
    }

    /// Returns the run's request if it is among the earlier events, cut to a bounded length.
    pub(super) fn request(&self) -> Option<String> {
        let input = self.earlier.iter().find(|event| event["type"] == "input")?;
        let text = input["text"].as_str()?;
        let cut: String = text.chars().take(REQUEST_MAX_CHARS).collect();
        Some(if cut.len() < text.len() {
            cut + "…"
        } else {
            cut
        })
    }
}

fn seq_of(event: &Value) -> u64 {
    event["seq"].as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(sizes: &[usize]) -> Vec<Value> {
        let event = |(n, size): (usize, &usize)| {
            let kind = if n == 0 { "input" } else { "assistant" };
            json!({"type": kind, "seq": n + 1, "text": "x".repeat(*size)})
        };
        sizes.iter().enumerate().map(event).collect()
    }

    fn span(tail: &Tail<'_>) -> (u64, usize) {
        (tail.events.first().map_or(0, seq_of), tail.events.len())
    }

    #[test]
    fn newest_events_fit_the_page() {
        let all = events(&[100, 100_000, 100_000, 100_000]);
        let newest = Tail::before(&all, None);
        assert_eq!((span(&newest), newest.earlier_before()), ((3, 2), Some(3)));
        assert_eq!(newest.request().unwrap().len(), 100);
        let rest = Tail::before(&all, newest.earlier_before());
        assert_eq!(
            (span(&rest), rest.earlier_before(), rest.request()),
            ((1, 2), None, None)
        );
    }

    #[test]
    fn oversized_event_is_shown_alone() {
        let all = events(&[300_000, 300_000]);
        let newest = Tail::before(&all, None);
        assert_eq!(span(&newest), (2, 1));
        assert_eq!(
            newest.request().unwrap().chars().count(),
            REQUEST_MAX_CHARS + 1
        );
        assert_eq!(span(&Tail::before(&[], None)), (0, 0));
    }
}
