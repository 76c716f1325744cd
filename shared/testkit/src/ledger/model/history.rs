//! Finished runs, as far as they affect live runs, with the default policy.
//!
//! Decided beyond the contract: a live run's events outlive its record. A provisional put that
//! arrives after an append adds missing events and changes none. Deleting or trimming that record
//! keeps the events.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::rules::Rules;
use super::{Model, answer::Answer, row::Finished};
use crate::ledger::expected::Expected;
use crate::ledger::payload::{Event, Name, Record};

const DAY_MS: i64 = 86_400_000;
/// Retention in the default policy.
const RETENTION_DAYS: i64 = 30;
/// Default page size in a list.
const LIST_DEFAULT: i64 = 50;
/// Maximum page size in a list. Larger limits are clamped.
const LIST_MAX: i64 = 200;
/// Maximum page size for events. Larger limits are rejected.
const EVENTS_MAX: i64 = 5000;
/// Categories in the friction analysis.
const CATEGORIES: [&str; 8] = [
    "slow_tool",
    "slow_model_turn",
    "failed_tool",
    "retry",
    "setup_install",
    "wrap_up",
    "budget_hit",
    "infra_failure",
];

/// What a write did.
pub(super) struct Written {
    pub(super) stored: bool,
    rewritten: bool,
}

impl Model {
    pub(super) fn put(&mut self, record: &Record, now: i64) -> Answer {
        Rules::default().record(record).hold()?;
        let written = self.write(record, now);
        let retained = self
            .finished
            .values()
            .filter(|run| run.is_kept(now))
            .count();
        let Written { stored, rewritten } = written;
        Ok(Expected::ok(
            json!({ "ok": true, "retained": retained, "stored": stored, "rewritten": rewritten }),
        ))
    }

    /// Writes a record like a put.
    pub(super) fn write(&mut self, record: &Record, now: i64) -> Written {
        let next = Finished::new(record, now);
        let before = self.finished.get(record.id);
        let same = before.is_some_and(|before| before.version() == next.version());
        let rewritten = before.is_some() && !same;
        if !same {
            let events = numbered(&record.events);
            if self.live.contains_key(record.id) {
                let kept = self.events.entry(record.id).or_default();
                for (seq, event) in events {
                    kept.entry(seq).or_insert(event);
                }
            } else {
                self.events.insert(record.id, events);
            }
        }
        self.finished.insert(record.id, next);
        self.trim(now);
        Written {
            stored: self.finished.contains_key(record.id),
            rewritten,
        }
    }

    /// Deletes expired runs. No sequence reaches the limit of 500.
    pub(super) fn trim(&mut self, now: i64) {
        self.finished.retain(|_, run| run.is_kept(now));
        let Self {
            events,
            live,
            finished,
            ..
        } = self;
        events.retain(|run, _| live.contains_key(run) || finished.contains_key(run));
    }

    pub(super) fn get(&self, run: Name, now: i64) -> Answer {
        Rules::default().run(run, "id").hold()?;
        let record = self.visible(run, now).map(|finished| {
            let mut record = finished.item.clone();
            record["events"] = Value::from(self.typed_events(run));
            record
        });
        Ok(Expected::ok(json!({ "record": record })))
    }

    pub(super) fn summary(&self, run: Name, now: i64) -> Answer {
        Rules::default().run(run, "id").hold()?;
        Ok(Expected::ok(
            json!({ "summary": self.visible(run, now).map(Finished::listed) }),
        ))
    }

    pub(super) fn list(&self, limit: Option<i64>, now: i64) -> Answer {
        Rules::default()
            .that(limit.is_none_or(|limit| limit >= 1), "limit")
            .hold()?;
        let limit = limit.unwrap_or(LIST_DEFAULT).min(LIST_MAX) as usize;
        let mut runs: Vec<_> = self
            .finished
            .iter()
            .filter(|(_, run)| run.is_kept(now))
            .collect();
        runs.sort_by_key(|(id, run)| std::cmp::Reverse((run.finished_at, **id)));
        runs.truncate(limit);
        let mut page =
            json!({ "items": runs.iter().map(|(_, run)| run.listed()).collect::<Vec<_>>() });
        if let Some((id, run)) = runs.get(limit - 1) {
            page["nextBefore"] = json!({ "finishedAt": run.finished_at, "id": id });
        }
        Ok(Expected::ok(page))
    }

    pub(super) fn events(&self, run: Name, after: i64, limit: i64, now: i64) -> Answer {
        let rules = Rules::default().run(run, "id").that(after >= 0, "afterSeq");
        rules
            .that((1..=EVENTS_MAX).contains(&limit), "limit")
            .hold()?;
        if self.visible(run, now).is_none() {
            return Ok(Expected::ok(json!({ "events": null })));
        }
        let mut rows = self
            .events
            .get(run)
            .into_iter()
            .flat_map(|events| events.range(after + 1..));
        let page: Vec<_> = rows.by_ref().take(limit as usize).collect();
        // A row that readers skip counts towards the page, because the cursor is the last seq read.
        let events: Vec<_> = page
            .iter()
            .filter(|(_, event)| is_typed(event))
            .map(|(_, event)| event)
            .collect();
        let mut answer = json!({ "events": events });
        if let (Some((seq, _)), true) = (page.last(), rows.next().is_some()) {
            answer["nextAfterSeq"] = json!(seq);
        }
        Ok(Expected::ok(answer))
    }

    pub(super) fn delete(&mut self, run: Name) -> Answer {
        Rules::default().run(run, "id").hold()?;
        let deleted = self.finished.remove(run).is_some();
        if !self.live.contains_key(run) {
            self.events.remove(run);
        }
        Ok(Expected::ok(json!({ "ok": true, "deleted": deleted })))
    }

    pub(super) fn visible(&self, run: Name, now: i64) -> Option<&Finished> {
        self.finished
            .get(run)
            .filter(|finished| finished.is_kept(now))
    }

    pub(super) fn typed_events(&self, run: Name) -> Vec<Value> {
        let events = self.events.get(run).into_iter().flat_map(BTreeMap::values);
        events.filter(|event| is_typed(event)).cloned().collect()
    }
}

impl Finished {
    fn new(record: &Record, now: i64) -> Self {
        let mut item = record.json();
        let finished_at = record.finished_at.min(now + DAY_MS);
        item["finishedAt"] = json!(finished_at);
        // In the stored record every event has a seq.
        item["events"] = numbered(&record.events).into_values().collect();
        let bytes = item.to_string().len();
        if let Some(fields) = item.as_object_mut() {
            fields.shift_remove("events");
        }
        let zero = |category: &str| (category.to_owned(), json!({ "count": 0, "durationMs": 0 }));
        item["diagnosis"]["byCategory"] = Value::Object(CATEGORIES.into_iter().map(zero).collect());
        Self {
            item,
            finished_at,
            event_count: record.events.len(),
            bytes,
        }
    }

    /// Returns the values that distinguish a record's versions.
    fn version(&self) -> (usize, i64, usize) {
        (self.event_count, self.finished_at, self.bytes)
    }

    fn is_kept(&self, now: i64) -> bool {
        self.finished_at >= now - RETENTION_DAYS * DAY_MS
    }

    fn listed(&self) -> Value {
        let mut item = self.item.clone();
        item["bytes"] = json!(self.bytes);
        item
    }
}

/// Assigns keys: a record's seqs if they are ascending, else positions.
pub(super) fn numbered(events: &[Event]) -> BTreeMap<i64, Value> {
    let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
    let own = seqs.iter().all(|seq| *seq > 0) && seqs.is_sorted_by(|one, next| one < next);
    let number = |(position, event): (i64, &Event)| {
        let seq = if own { event.seq } else { position };
        let mut json = event.json();
        json["seq"] = json!(seq);
        (seq, json)
    };
    (1..).zip(events).map(number).collect()
}

fn is_typed(event: &Value) -> bool {
    event["type"].is_string()
}
