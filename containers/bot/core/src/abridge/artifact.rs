//! The abridged artifact as an event in the stored record.

use ars_codehost::review::Abridged;
use ars_events::{ArtifactKind, DiffProvider, EventBody, MeatTokens};
use ars_runs::RunRecord;
use ars_types::UnixMillis;
use serde::Deserialize as _;
use serde_json::{Value, json};

/// A finished artifact with its diff.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) artifact: Abridged,
    /// The diff that the model read.
    pub(super) diff: String,
    /// The branch that the pull request is for.
    pub(super) base_ref: String,
    /// Call cost in millionths of a dollar, if known.
    pub(super) microusd: Option<u64>,
}

/// Returns the newest abridged artifact among these events.
pub(super) fn stored(events: &[Value]) -> Option<Abridged> {
    let is_abridged =
        |event: &&Value| event["type"] == "review_artifact" && event["poweredBy"] == "meat";
    let event = events.iter().rev().find(is_abridged)?;
    let text = |name: &str| event[name].as_str().map(str::to_owned);
    Some(Abridged {
        model: text("model"),
        summary: text("summary"),
        input: text("input"),
        input_bytes: event["inputBytes"].as_u64(),
        diff_chars: event["diff"]
            .as_str()
            .map_or(0, |diff| diff.chars().count() as u64),
        truncated: event["truncated"].as_bool().unwrap_or_default(),
        tokens: MeatTokens::deserialize(&event["meatTokens"]).ok(),
    })
}

/// Appends an artifact to a record.
pub(super) fn append(record: &mut RunRecord, made: &Made, now: UnixMillis) {
    let Made {
        artifact,
        diff,
        base_ref,
        ..
    } = made;
    let body = EventBody::ReviewArtifact {
        artifact: ArtifactKind::ReadingDiff,
        powered_by: DiffProvider::Meat,
        base_ref: base_ref.clone(),
        diff: diff.clone(),
        truncated: artifact.truncated,
        summary: artifact.summary.clone(),
        meat_tokens: artifact.tokens,
    };
    let Ok(mut event) = serde_json::to_value(&body) else {
        return;
    };
    let last = record
        .events
        .last()
        .and_then(|event| event["seq"].as_u64())
        .unwrap_or(record.event_count);
    let seq = last.max(record.event_count) + 1;
    for (name, value) in [
        ("model", artifact.model.as_ref().map(|model| json!(model))),
        ("input", artifact.input.as_ref().map(|input| json!(input))),
        ("inputBytes", artifact.input_bytes.map(|bytes| json!(bytes))),
        ("seq", Some(json!(seq))),
        ("at", Some(json!(now))),
    ] {
        if let Some(value) = value {
            event[name] = value;
        }
    }
    record.events.push(event);
    record.event_count += 1;
    record.stored_event_count = record.events.len() as u64;
    record.truncated = record.event_count != record.stored_event_count;
}
