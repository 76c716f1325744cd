//! Fits a record's part beside the events, which every run list contains.
//!
//! The store rejects a larger part, so it is shortened before it is sent: first texts, then the
//! diagnosis, then fields from other versions. The diagnosis keeps the totals, so a reader sees how
//! many findings were dropped.

use serde_json::Value;

use super::{ELLIPSIS, escaped, size};
use crate::{
    pull_facts::{POSTED_REVIEW, PULL_REQUEST},
    record::{ABRIDGE_COST, COST, REFLECTION_COST, RESERVED_COST, RunRecord, TAINT},
};

/// Maximum size of a record's JSON without events, in bytes.
pub const MAX_HEAD_BYTES: usize = 65_536;
/// Maximum JSON bytes for a single text in an oversized record. Identifiers are bounded below it at
/// ingress.
const MAX_FIELD_BYTES: usize = 2_048;
/// Maximum JSON bytes for a finding's text in an oversized record.
const MAX_FINDING_BYTES: usize = 512;
/// Fields that later decisions need, and that are never dropped.
const KEPT: [&str; 7] = [
    COST,
    REFLECTION_COST,
    ABRIDGE_COST,
    RESERVED_COST,
    TAINT,
    PULL_REQUEST,
    POSTED_REVIEW,
];
/// Severities, the least important first.
const SEVERITIES: [&str; 3] = ["low", "medium", "high"];

/// Shortens a record until its part beside events fits. A record that fits already is unchanged.
pub(super) fn fit(record: &mut RunRecord) {
    let events = std::mem::take(&mut record.events);
    if size(record) > MAX_HEAD_BYTES {
        shorten(record);
    }
    record.events = events;
}

fn shorten(record: &mut RunRecord) {
    let optional = [
        &mut record.label,
        &mut record.agent,
        &mut record.model,
        &mut record.repo,
    ];
    let required = [
        &mut record.channel_id,
        &mut record.user_id,
        &mut record.thread_key,
    ];
    for text in optional.into_iter().flatten().chain(required) {
        clip(text, MAX_FIELD_BYTES);
    }
    drop_fields(record);
    shorten_diagnosis(record);
}

/// Drops fields from other versions, the largest first, to leave half the room for the diagnosis.
fn drop_fields(record: &mut RunRecord) {
    while size(&record.extra) > MAX_HEAD_BYTES / 2 {
        let droppable = record
            .extra
            .iter()
            .filter(|(name, _)| !KEPT.contains(&name.as_str()));
        let largest = droppable
            .max_by_key(|(_, value)| size(value))
            .map(|(name, _)| name.clone());
        let Some(name) = largest else { return };
        record.extra.shift_remove(&name);
    }
}

/// Clips the diagnosis texts, then drops findings: the least severe, among equals the last.
fn shorten_diagnosis(record: &mut RunRecord) {
    let Some(diagnosis) = record.diagnosis.as_object_mut() else {
        return;
    };
    for (name, value) in diagnosis.iter_mut().filter(|(name, _)| *name != "findings") {
        match value {
            Value::String(text) => clip(text, MAX_FIELD_BYTES),
            // The totals, the shape, and parts from other versions.
            other if size(other) > MAX_FIELD_BYTES && name != "byCategory" => *other = Value::Null,
            _ => {}
        }
    }
    let Some(Value::Array(findings)) = diagnosis.get_mut("findings") else {
        return;
    };
    let mut findings = std::mem::take(findings);
    for text in findings
        .iter_mut()
        .filter_map(Value::as_object_mut)
        .flat_map(|finding| finding.values_mut())
    {
        match text {
            Value::String(text) => clip(text, MAX_FINDING_BYTES),
            other if size(other) > MAX_FINDING_BYTES => *other = Value::Null,
            _ => {}
        }
    }
    let mut room = MAX_HEAD_BYTES.saturating_sub(size(record));
    let severity = |finding: &Value| {
        SEVERITIES
            .iter()
            .position(|word| finding["severity"] == **word)
    };
    let mut order: Vec<_> = (0..findings.len()).collect();
    // A stable sort keeps the stream's order among equals.
    order.sort_by_key(|&index| std::cmp::Reverse(severity(&findings[index])));
    let mut kept = vec![false; findings.len()];
    for index in order {
        let Some(left) = room.checked_sub(size(&findings[index]) + 1) else {
            break;
        };
        (room, kept[index]) = (left, true);
    }
    let fitting = findings
        .into_iter()
        .zip(kept)
        .filter_map(|(finding, kept)| kept.then_some(finding));
    record.diagnosis["findings"] = fitting.collect();
}

/// Cuts a text to so many JSON bytes, without quotes, and marks it as cut.
fn clip(text: &mut String, max_bytes: usize) {
    if text.chars().map(escaped).sum::<usize>() <= max_bytes {
        return;
    }
    let mut room = max_bytes.saturating_sub(escaped(ELLIPSIS));
    let fits = |char: &(usize, char)| {
        let left = room.checked_sub(escaped(char.1));
        room = left.unwrap_or_default();
        left.is_some()
    };
    let end = text
        .char_indices()
        .take_while(fits)
        .last()
        .map_or(0, |(at, char)| at + char.len_utf8());
    text.truncate(end);
    text.push(ELLIPSIS);
}
