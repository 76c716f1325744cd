//! Writes a record: `{ ok, retained, stored, rewritten }` (state-worker supplement section 5.4).
//!
//! All in one transaction: a failure anywhere leaves nothing, not even the policy that came along.

use ars_sql::{Sql, SqlError, Value};
use ars_types::{UnixMillis, Visibility};
use serde_json::{Map, Value as Json};

use super::{
    RunStore,
    request::finite,
    trim::{self, Trimmed},
};
use crate::{
    acceptance,
    json::{MAX_SAFE, number, parse_body, whole},
    refusal::{Refusal, StoreFailure},
    retention::Policy,
};

/// How far ahead of the store's clock a run may claim to have finished (section 5.4).
const MAX_AHEAD_MS: i64 = 24 * 60 * 60 * 1000;
/// Bytes of one stored text; what the edge platform takes in one row (docs/platform.md), less the row's other columns.
const MAX_TEXT: usize = 2_100_000;
/// Bytes of events handed to SQLite in one parameter; a larger event goes alone.
const MAX_BATCH: usize = 1_000_000;

/// A record, taken apart for storing.
struct Put {
    /// Without its events.
    record: Json,
    id: String,
    finished_at: f64,
    event_count: f64,
    /// The JSON text of `record`.
    text: String,
    /// Events by their keys, ascending.
    events: Vec<(i64, String)>,
    /// Size of the whole record's JSON.
    bytes: i64,
    proposal: Option<Proposal>,
}

/// A proposed policy.
struct Proposal {
    policy: Policy,
    updated_at: f64,
}

impl<S: Sql> RunStore<S> {
    /// Answers `/runs/put`.
    pub fn put(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let put = Put::read(parse_body(body)?, now)?;
        let (rewritten, trimmed) = self.sql.transaction(|| self.write(&put, now))?;
        let Trimmed { retained, survived } = trimmed;
        Ok(format!(r#"{{"ok":true,"retained":{retained},"stored":{survived},"rewritten":{rewritten}}}"#))
    }

    fn write(&self, put: &Put, now: UnixMillis) -> Result<(bool, Trimmed), SqlError> {
        if let Some(proposal) = &put.proposal {
            self.propose(proposal, now)?;
        }
        let earlier = self.version(&put.id)?;
        let version = (put.event_count, put.finished_at, put.bytes as f64);
        self.write_row(put, now)?;
        if earlier != Some(version) {
            self.write_events(put)?;
        }
        let rewritten = earlier.is_some_and(|earlier| earlier != version);
        Ok((rewritten, trim::after_put(&self.sql, &put.id, now)?))
    }

    /// Takes a policy over if it was decided after the one in force. A stamp ahead of the store's clock counts as
    /// now, so that an honest later one still wins (section 7.3).
    fn propose(&self, proposal: &Proposal, now: UnixMillis) -> Result<(), SqlError> {
        let Proposal { policy, updated_at } = proposal;
        self.sql.execute(
            "UPDATE retention SET retention_days = ?1, max_runs = ?2, max_bytes = ?3, policy_updated_at = ?4 \
             WHERE policy_updated_at < ?4",
            &[
                Value::from(policy.retention_days()),
                Value::from(policy.max_runs()),
                Value::from(policy.max_bytes()),
                Value::from(updated_at.min(now as f64)),
            ],
        )
    }

    /// What tells two versions of a stored run apart.
    fn version(&self, id: &str) -> Result<Option<(f64, f64, f64)>, SqlError> {
        let rows = self
            .sql
            .query("SELECT event_count, finished_at, bytes FROM runs WHERE id = ?", &[Value::from(id)])?;
        rows.first().map(|row| Ok((row.real(0)?, row.real(1)?, row.real(2)?))).transpose()
    }

    fn write_row(&self, put: &Put, now: UnixMillis) -> Result<(), SqlError> {
        let text = |name: &str| Value::from(put.record.get(name).and_then(Json::as_str).unwrap_or_default());
        let visibility = put.record.get("channelVisibility").and_then(Json::as_str);
        self.sql.execute(
            "REPLACE INTO runs (id, finished_at, event_count, bytes, agent, channel_id, user_id, repo, visibility, \
             stored_at, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                Value::from(put.id.as_str()),
                Value::from(put.finished_at),
                Value::from(put.event_count),
                Value::from(put.bytes),
                text("agent"),
                text("channelId"),
                text("userId"),
                text("repo"),
                Value::from(visibility.unwrap_or(Visibility::Unknown.as_str())),
                Value::from(now),
                Value::from(put.text.as_str()),
            ],
        )
    }

    /// Replaces the run's events. A batch is one JSON object from seq to event that SQLite takes apart.
    fn write_events(&self, put: &Put) -> Result<(), SqlError> {
        let id = || Value::from(put.id.as_str());
        self.sql.execute("DELETE FROM run_events WHERE run_id = ?", &[id()])?;
        for batch in batches(&put.events) {
            self.sql.execute(
                "INSERT INTO run_events (run_id, seq, event) \
                 SELECT ?1, CAST(key AS INTEGER), value FROM json_each(?2)",
                &[id(), Value::from(batch)],
            )?;
        }
        Ok(())
    }
}

impl Put {
    fn read(mut body: Map<String, Json>, now: UnixMillis) -> Result<Self, Refusal> {
        let Some(Json::Object(mut record)) = body.remove("record") else {
            return Err(Refusal::field("record", "must be an object"));
        };
        acceptance::check(&record)?;
        let proposal = Proposal::read(&body)?;
        for name in ["finishedAt", "receivedAt", "sealedAt"] {
            clamp(&mut record, name, now + MAX_AHEAD_MS);
        }
        let events = match record.shift_remove("events") {
            Some(Json::Array(events)) => keyed(events),
            _ => Vec::new(),
        };
        let record = Json::Object(record);
        let text = record.to_string();
        check_sizes(&text, &events)?;
        let of = |name: &str| record.get(name).and_then(number).unwrap_or_default();
        Ok(Self {
            id: record.get("id").and_then(Json::as_str).unwrap_or_default().to_owned(),
            finished_at: of("finishedAt"),
            event_count: of("eventCount"),
            bytes: whole_size(&text, &events),
            record,
            text,
            events,
            proposal,
        })
    }
}

impl Proposal {
    fn read(body: &Map<String, Json>) -> Result<Option<Self>, Refusal> {
        let policy = match body.get("policy") {
            // A stamp without a policy says nothing, whatever it is.
            None => return Ok(None),
            Some(Json::Object(policy)) => policy,
            Some(_) => return Err(Refusal::field("policy", "must be an object")),
        };
        let field = |name: &str| match policy.get(name).map(whole) {
            None => Ok(None),
            Some(Some(value)) if value >= 1 => Ok(Some(value as f64)),
            Some(_) => Err(Refusal::field(format!("policy.{name}"), "must be an integer of at least 1")),
        };
        let policy = Policy::fill(field("retentionDays")?, field("maxRuns")?, field("maxBytes")?);
        match finite(body, "policyUpdatedAt") {
            Ok(Some(updated_at)) if updated_at >= 0.0 => Ok(Some(Self { policy, updated_at })),
            _ => Err(Refusal::field("policyUpdatedAt", "must be a number of at least 0 beside a policy")),
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

/// Gives every event its key: its own seq when all are positive integers and rise, else its position from 1.
fn keyed(events: Vec<Json>) -> Vec<(i64, String)> {
    let seqs: Option<Vec<i64>> = events.iter().map(seq_of).collect();
    let own = seqs.filter(|seqs| seqs.is_sorted_by(|a, b| a < b));
    let position = |(index, mut event): (usize, Json)| {
        let seq = match &own {
            Some(seqs) => seqs[index],
            None => {
                let seq = index as i64 + 1;
                event["seq"] = Json::from(seq);
                seq
            }
        };
        (seq, event.to_string())
    };
    events.into_iter().enumerate().map(position).collect()
}

fn seq_of(event: &Json) -> Option<i64> {
    let seq = event.get("seq")?;
    whole(seq).filter(|whole| *whole >= 1 && number(seq).is_some_and(|number| number <= MAX_SAFE))
}

/// A stored text larger than a row can be is the caller's fault: JSON may grow when it is written anew.
fn check_sizes(text: &str, events: &[(i64, String)]) -> Result<(), Refusal> {
    if text.len() > MAX_TEXT {
        return Err(Refusal::field("record", "must take at most 2100000 bytes without its events"));
    }
    match events.iter().position(|(_, event)| event.len() > MAX_TEXT) {
        Some(index) => {
            Err(Refusal::field(format!("record.events[{index}]"), "must take at most 2100000 bytes"))
        }
        None => Ok(()),
    }
}

fn whole_size(text: &str, events: &[(i64, String)]) -> i64 {
    let key = r#","events":[]"#.len();
    let commas = events.len().saturating_sub(1);
    let events: usize = events.iter().map(|(_, event)| event.len()).sum();
    i64::try_from(text.len() + key + commas + events).unwrap_or(i64::MAX)
}

fn batches(events: &[(i64, String)]) -> Vec<String> {
    let mut batches = Vec::new();
    let mut batch = String::new();
    for (seq, event) in events {
        if !batch.is_empty() && batch.len() + event.len() > MAX_BATCH {
            batch.push('}');
            batches.push(std::mem::take(&mut batch));
        }
        batch.push(if batch.is_empty() { '{' } else { ',' });
        batch.push_str(&format!("\"{seq}\":{event}"));
    }
    if !batch.is_empty() {
        batch.push('}');
        batches.push(batch);
    }
    batches
}
