//! Fits a record into the store's byte limits before it is sent.
//!
//! The part beside events is fitted first (`head`). Then large texts are cut, then timing spans are
//! dropped from the middle outwards, then events from the middle. The first events (the request)
//! and the last events (the outcome) are the most useful for readers, so they go last.

use std::{
    collections::{HashMap, HashSet},
    io,
};

use serde::Serialize;
use serde_json::Value;

use crate::record::RunRecord;

mod head;

pub use head::MAX_HEAD_BYTES;

/// Maximum size of an event's JSON in bytes.
pub const MAX_EVENT_BYTES: usize = 65_536;
/// Maximum size of a record's JSON in bytes.
pub const MAX_RECORD_BYTES: usize = 1_572_864;

/// Marks a shortened text.
const ELLIPSIS: char = '…';

/// Returns the record within the budget. A record that fits already is returned unchanged.
pub fn fit(record: RunRecord) -> RunRecord {
    let mut fitted = record;
    head::fit(&mut fitted);
    fitted.events.iter_mut().for_each(shorten);
    if size(&fitted) <= MAX_RECORD_BYTES {
        return fitted;
    }
    let events = std::mem::take(&mut fitted.events);
    // Upper bound for the record's size without events: the event count can only lose digits.
    fitted.truncated = true;
    let room = MAX_RECORD_BYTES.saturating_sub(size(&fitted));
    let sizes = events
        .iter()
        .map(|event| size(event) + 1)
        .collect::<Vec<_>>();
    let kept = ends_that_fit(&sizes, without_spans(&events, &sizes, room), room);
    fitted.events = events
        .into_iter()
        .zip(kept)
        .filter_map(|(event, kept)| kept.then_some(event))
        .collect();
    fitted.stored_event_count = fitted.events.len() as u64;
    fitted
}

/// Returns an event's JSON with the text shortened to the event limit, or `None` if it already
/// fits.
pub fn shortened(json: &str) -> Option<String> {
    if json.len() <= MAX_EVENT_BYTES {
        return None;
    }
    let mut event = serde_json::from_str(json).ok()?;
    shorten(&mut event);
    serde_json::to_string(&event).ok()
}

/// Returns the size of a value's JSON without allocating it.
fn size(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // Records always serialize.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Shortens an oversized event's text, or the diff or summary if it has no text.
fn shorten(event: &mut Value) {
    let size = size(event);
    let Some(field) = ["text", "diff", "summary"]
        .into_iter()
        .find(|field| event[field].is_string())
    else {
        return;
    };
    if size > MAX_EVENT_BYTES && field == "diff" {
        event["truncated"] = Value::Bool(true);
    }
    let (true, Value::String(text)) = (size > MAX_EVENT_BYTES, &mut event[field]) else {
        return;
    };
    let rest = size - text.chars().map(escaped).sum::<usize>();
    let mut room = MAX_EVENT_BYTES.saturating_sub(rest + escaped(ELLIPSIS));
    let fits = |char: &(usize, char)| {
        let wanted = escaped(char.1);
        let had = room;
        room = room.saturating_sub(wanted);
        wanted <= had
    };
    let end = text
        .char_indices()
        .take_while(fits)
        .last()
        .map_or(0, |(at, char)| at + char.len_utf8());
    text.truncate(end);
    text.push(ELLIPSIS);
}

/// Returns a character's JSON bytes as `serde_json` escapes it.
fn escaped(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => char.len_utf8(),
    }
}

/// Drops spans, nearest to the middle first, until the remaining events fit. A span's start and end
/// are dropped together. The protected head keeps its spans.
fn without_spans(events: &[Value], sizes: &[usize], room: usize) -> Vec<bool> {
    let head = events.iter().take_while(|event| is_head(event)).count();
    let middle = head + (events.len() - head) / 2;
    let mut spans: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, event) in events.iter().enumerate() {
        if let Some(span) = span_of(event) {
            spans.entry(span).or_default().push(index);
        }
    }
    let distance = |indexes: &[usize]| {
        indexes
            .iter()
            .map(|index| index.abs_diff(middle))
            .min()
            .unwrap_or(usize::MAX)
    };
    let mut spans = spans
        .into_values()
        .filter(|indexes| indexes[0] >= head)
        .collect::<Vec<_>>();
    // The earlier span goes first on a tie, so that the result is deterministic.
    spans.sort_by_key(|indexes| (distance(indexes), indexes[0]));
    let mut total: usize = sizes.iter().sum();
    let mut dropped = HashSet::new();
    for indexes in spans {
        if total <= room {
            break;
        }
        total -= indexes.iter().map(|&index| sizes[index]).sum::<usize>();
        dropped.extend(indexes);
    }
    (0..events.len())
        .map(|index| !dropped.contains(&index))
        .collect()
}

/// Keeps the events that fit, alternating between both ends and starting with the first event.
fn ends_that_fit(sizes: &[usize], mut kept: Vec<bool>, mut room: usize) -> Vec<bool> {
    let candidates = (0..kept.len())
        .filter(|&index| kept[index])
        .collect::<Vec<_>>();
    let mut front = 0;
    let mut back = candidates.len();
    while front < back {
        let from_front = front + back <= candidates.len();
        let index = candidates[if from_front { front } else { back - 1 }];
        let Some(left) = room.checked_sub(sizes[index]) else {
            break;
        };
        room = left;
        if from_front { front += 1 } else { back -= 1 }
    }
    candidates[front..back]
        .iter()
        .for_each(|&index| kept[index] = false);
    kept
}

fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field].as_str().unwrap_or_default()
}

/// Returns the span id in a span's start or end event.
fn span_of(event: &Value) -> Option<&str> {
    matches!(text(event, "type"), "span_start" | "span_end").then(|| text(event, "spanId"))
}

/// Returns whether the event belongs to the protected head if all events before it do.
fn is_head(event: &Value) -> bool {
    match text(event, "type") {
        "input" | "context" | "run_meta" => true,
        "run_note" => matches!(text(event, "kind"), "mcp_unavailable" | "spans_dropped"),
        "span_start" => {
            let name = text(event, "name");
            matches!(name, "request" | "slack.receive") || name.starts_with("dispatch.")
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
