//! A request's record, validated and prepared for storing.

use serde_json::{Map, Value as Json};

use ars_store::{
    Refusal,
    json::{number, whole},
    request::finite,
};
use ars_types::{UnixMillis, Visibility};

use super::{event_batch::EventBatch, event_text::EventText};
use crate::{
    acceptance,
    budget::MAX_HEAD_BYTES,
    canonical::{CANONICAL, is_canonical},
    retention::Policy,
};

/// How far a finish time may lie ahead of the store's clock.
const MAX_AHEAD_MS: i64 = 24 * 60 * 60 * 1000;
/// Maximum size of a stored event in bytes. The platform's row limit (docs/platform.md) less the
/// other columns.
const MAX_TEXT: usize = 2_100_000;
/// Maximum size of a record's brief form in bytes. Above it a list derives the form from the
/// record, because both share the platform's row limit.
const MAX_BRIEF: usize = 16_384;

/// A record, prepared for storing.
pub(crate) struct Put<'a> {
    /// The record without events.
    pub(super) record: Json,
    /// Category version if readers see the record unchanged, else 0.
    pub(super) plain: i64,
    pub(super) id: String,
    pub(super) finished_at: f64,
    pub(super) event_count: f64,
    /// The `record` as JSON text.
    pub(super) text: String,
    /// The record with the size and without the diagnosis, unless that is large.
    pub(super) brief: Option<String>,
    /// Events, ascending by seq. All have a seq.
    pub(super) events: Vec<EventText<'a>>,
    /// Size of the whole record's JSON.
    pub(super) bytes: i64,
    pub(super) proposal: Option<Proposal>,
}

/// A policy that a request proposes.
pub(super) struct Proposal {
    pub(super) policy: Policy,
    pub(super) updated_at: f64,
}

impl<'a> Put<'a> {
    /// Path to the events in a body.
    pub(crate) const EVENTS: [&'static str; 2] = ["record", "events"];

    /// Reads the record in a body.
    pub(crate) fn read(
        fields: &mut Map<String, Json>,
        events: Option<Vec<EventText<'a>>>,
        now: UnixMillis,
    ) -> Result<Self, Refusal> {
        let Some(Json::Object(mut record)) = fields.shift_remove("record") else {
            return Err(Refusal::field("record", "must be an object"));
        };
        acceptance::check(&record, events.as_deref())?;
        let proposal = Proposal::read(fields)?;
        for name in ["finishedAt", "receivedAt", "sealedAt"] {
            clamp(&mut record, name, now + MAX_AHEAD_MS);
        }
        record.shift_remove("events");
        let events = keyed(events.unwrap_or_default());
        let plain = if is_canonical(&record) { CANONICAL } else { 0 };
        let record = Json::Object(record);
        let text = record.to_string();
        check_sizes(&record, &text, &events)?;
        let bytes = whole_size(&text, &events);
        let of = |name: &str| record.get(name).and_then(number).unwrap_or_default();
        Ok(Self {
            id: record
                .get("id")
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned(),
            finished_at: of("finishedAt"),
            event_count: of("eventCount"),
            brief: brief(&record, bytes),
            bytes,
            record,
            plain,
            text,
            events,
            proposal,
        })
    }

    /// Returns the id of the record's run.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the values that distinguish a stored run's versions.
    pub(super) fn version(&self) -> (f64, f64, f64) {
        (self.event_count, self.finished_at, self.bytes as f64)
    }

    pub(super) fn batch(&self) -> EventBatch {
        let mut batch = EventBatch::default();
        for event in &self.events {
            batch.push(event.seq.unwrap_or_default(), &event.text);
        }
        batch
    }
}

impl Proposal {
    fn read(body: &Map<String, Json>) -> Result<Option<Self>, Refusal> {
        let policy = match body.get("policy") {
            // A stamp without a policy is ignored, even if it is malformed.
            None => return Ok(None),
            Some(Json::Object(policy)) => policy,
            Some(_) => return Err(Refusal::field("policy", "must be an object")),
        };
        let field = |name: &str| match policy.get(name).map(whole) {
            None => Ok(None),
            Some(Some(value)) if value >= 1 => Ok(Some(value as f64)),
            Some(_) => Err(Refusal::field(
                format!("policy.{name}"),
                "must be an integer of at least 1",
            )),
        };
        let policy = Policy::fill(
            field("retentionDays")?,
            field("maxRuns")?,
            field("maxBytes")?,
        );
        match finite(body, "policyUpdatedAt") {
            Ok(Some(updated_at)) if updated_at >= 0.0 => Ok(Some(Self { policy, updated_at })),
            _ => Err(Refusal::field(
                "policyUpdatedAt",
                "must be a number of at least 0 beside a policy",
            )),
        }
    }
}

fn clamp(record: &mut Map<String, Json>, name: &str, latest: UnixMillis) {
    if let Some(time) = record.get_mut(name)
        && number(time).is_some_and(|time| time > latest as f64)
    {
        *time = Json::from(latest);
    }
}

/// Assigns keys: the events' seqs if all are positive integers and ascending, else positions from 1.
fn keyed(events: Vec<EventText<'_>>) -> Vec<EventText<'_>> {
    let rise = events.is_sorted_by(|a, b| a.seq < b.seq);
    if rise && events.first().is_none_or(|first| first.seq.is_some()) {
        return events;
    }
    (1..)
        .zip(events)
        .map(|(position, event)| event.with_seq(position))
        .collect()
}

/// Rejects a large part beside events, which lists contain, and an event that is larger than a row.
/// JSON may grow when it is serialized again.
fn check_sizes(record: &Json, text: &str, events: &[EventText<'_>]) -> Result<(), Refusal> {
    if text.len() > MAX_HEAD_BYTES {
        let rule = "must be shorter: a record has at most 65536 bytes without its events";
        return Err(Refusal::field(format!("record.{}", largest(record)), rule));
    }
    match events.iter().position(|event| event.text.len() > MAX_TEXT) {
        Some(index) => Err(Refusal::field(
            format!("record.events[{index}]"),
            "must have at most 2100000 bytes",
        )),
        None => Ok(()),
    }
}

/// Returns the name of a record's largest field.
fn largest(record: &Json) -> &str {
    let fields = record.as_object().into_iter().flatten();
    fields
        .max_by_key(|(_, value)| value.to_string().len())
        .map_or("id", |(name, _)| name)
}

/// Returns the visibility that readers see.
pub(super) fn visibility(record: &Json) -> &str {
    record
        .get("channelVisibility")
        .and_then(Json::as_str)
        .unwrap_or(Visibility::Unknown.as_str())
}

/// Returns a record's brief form, or `None` if it is large.
fn brief(record: &Json, bytes: i64) -> Option<String> {
    let members = record
        .as_object()?
        .iter()
        .filter(|(name, _)| *name != "diagnosis");
    let mut brief: Map<_, _> = members
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    brief
        .entry("channelVisibility")
        .or_insert_with(|| visibility(record).into());
    brief.insert("bytes".into(), bytes.into());
    Some(Json::Object(brief).to_string()).filter(|text| text.len() <= MAX_BRIEF)
}

fn whole_size(text: &str, events: &[EventText<'_>]) -> i64 {
    let key = r#","events":[]"#.len();
    let commas = events.len().saturating_sub(1);
    let events: usize = events.iter().map(|event| event.text.len()).sum();
    i64::try_from(text.len() + key + commas + events).unwrap_or(i64::MAX)
}
