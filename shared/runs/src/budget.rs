//! Fits a record into the store's limits before it is sent (state-worker supplement section 7.4).
//!
//! Order of sacrifice: the tails of huge texts, then timing spans from the middle outwards, then events from the
//! middle. The head that says what was asked, and the end that says how it went, are what readers need most.

use std::{
    collections::{HashMap, HashSet},
    io,
};

use serde::Serialize;
use serde_json::Value;

use crate::record::RunRecord;

/// JSON bytes of one event (document 2 section 8).
pub const MAX_EVENT_BYTES: usize = 65_536;
/// JSON bytes of a record (document 2 section 8).
pub const MAX_RECORD_BYTES: usize = 1_572_864;

/// Ends a shortened text.
const ELLIPSIS: char = '…';

/// The record within its budget. One that fits already comes back as it was.
pub fn fit(record: RunRecord) -> RunRecord {
    let mut fitted = record;
    fitted.events.iter_mut().for_each(shorten);
    if size(&fitted) <= MAX_RECORD_BYTES {
        return fitted;
    }
    let events = std::mem::take(&mut fitted.events);
    // What the record takes beside its events, at the most it can come to: the count only loses digits.
    fitted.truncated = true;
    let room = MAX_RECORD_BYTES.saturating_sub(size(&fitted));
    let sizes = events.iter().map(|event| size(event) + 1).collect::<Vec<_>>();
    let kept = ends_that_fit(&sizes, without_spans(&events, &sizes, room), room);
    fitted.events = events.into_iter().zip(kept).filter_map(|(event, kept)| kept.then_some(event)).collect();
    fitted.stored_event_count = fitted.events.len() as u64;
    fitted
}

/// An event's JSON, with the tail of its text cut when it is more than the stores take of one event; nothing when it
/// fits as it is.
pub fn shortened(json: &str) -> Option<String> {
    if json.len() <= MAX_EVENT_BYTES {
        return None;
    }
    let mut event = serde_json::from_str(json).ok()?;
    shorten(&mut event);
    serde_json::to_string(&event).ok()
}

/// Bytes of a value's JSON, counted without writing it anywhere.
fn size(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // Every part of a record can be written as JSON.
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

/// Shortens the text of an event that is too large, or its diff or summary when it has no text.
fn shorten(event: &mut Value) {
    let size = size(event);
    let Some(field) = ["text", "diff", "summary"].into_iter().find(|field| event[field].is_string()) else {
        return;
    };
    if size > MAX_EVENT_BYTES && field == "diff" {
        event["truncated"] = Value::Bool(true);
    }
    let (true, Value::String(text)) = (size > MAX_EVENT_BYTES, &mut event[field]) else { return };
    let rest = size - text.chars().map(escaped).sum::<usize>();
    let mut room = MAX_EVENT_BYTES.saturating_sub(rest + escaped(ELLIPSIS));
    let fits = |char: &(usize, char)| {
        let (wanted, had) = (escaped(char.1), room);
        room = room.saturating_sub(wanted);
        wanted <= had
    };
    let end = text.char_indices().take_while(fits).last().map_or(0, |(at, char)| at + char.len_utf8());
    text.truncate(end);
    text.push(ELLIPSIS);
}

/// Bytes a character takes in JSON as this service writes it.
fn escaped(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => char.len_utf8(),
    }
}

/// Which events stay when spans go, nearest the middle first, until the rest has room. A span's start and end go
/// together, and none of them from the protected head.
fn without_spans(events: &[Value], sizes: &[usize], room: usize) -> Vec<bool> {
    let head = events.iter().take_while(|event| is_head(event)).count();
    let middle = head + (events.len() - head) / 2;
    let mut spans: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, event) in events.iter().enumerate() {
        if let Some(span) = span_of(event) {
            spans.entry(span).or_default().push(index);
        }
    }
    let distance =
        |indexes: &[usize]| indexes.iter().map(|index| index.abs_diff(middle)).min().unwrap_or(usize::MAX);
    let mut spans = spans.into_values().filter(|indexes| indexes[0] >= head).collect::<Vec<_>>();
    // Of two spans as near, the earlier goes first: the same record is always cut the same way.
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
    (0..events.len()).map(|index| !dropped.contains(&index)).collect()
}

/// Of the events still kept, those that fit when taken in turn from both ends, the first end first.
fn ends_that_fit(sizes: &[usize], mut kept: Vec<bool>, mut room: usize) -> Vec<bool> {
    let candidates = (0..kept.len()).filter(|&index| kept[index]).collect::<Vec<_>>();
    let (mut front, mut back) = (0, candidates.len());
    while front < back {
        let from_front = front + back <= candidates.len();
        let index = candidates[if from_front { front } else { back - 1 }];
        let Some(left) = room.checked_sub(sizes[index]) else { break };
        room = left;
        if from_front { front += 1 } else { back -= 1 }
    }
    candidates[front..back].iter().for_each(|&index| kept[index] = false);
    kept
}

fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field].as_str().unwrap_or_default()
}

/// The span whose start or end this is.
fn span_of(event: &Value) -> Option<&str> {
    matches!(text(event, "type"), "span_start" | "span_end").then(|| text(event, "spanId"))
}

/// Belongs to the protected head, when nothing but such stands before it.
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
