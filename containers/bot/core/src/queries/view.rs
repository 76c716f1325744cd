//! One run with its events, live or finished.

use ars_runs::RunRecord;
use ars_types::{RunId, RunStatus, StopMode, ThreadKey, UnixMillis, Visibility};
use serde_json::Value;

use crate::{
    history::{COST, REFLECTION_COST},
    live::LiveRow,
    registry::{LiveRun, QueuePlace, RunFacts, RunUse},
};

/// A run as queries return it.
#[derive(Debug, Clone)]
pub struct RunView {
    /// The run.
    pub id: RunId,
    /// The title in lists.
    pub label: String,
    /// The agent.
    pub agent: Option<String>,
    /// `provider/model`.
    pub model: Option<String>,
    /// The repository.
    pub repo: Option<String>,
    /// Namespaced channel.
    pub channel_id: String,
    /// Namespaced user.
    pub user_id: String,
    /// The channel's visibility.
    pub visibility: Visibility,
    /// The thread, if its stored key is readable.
    pub thread_key: Option<ThreadKey>,
    /// Time at which its request was received.
    pub received_at: Option<UnixMillis>,
    /// Time at which it was created.
    pub started_at: UnixMillis,
    /// Its end and outcome.
    pub finished: Option<(UnixMillis, RunStatus)>,
    /// The requested stop.
    pub stop: Option<StopMode>,
    /// The place of a run of this process that waits for a slot.
    pub queue: Option<QueuePlace>,
    /// The number of published events, evicted ones included.
    pub published: u64,
    /// What it has used, evicted events included.
    pub used: RunUse,
    /// Kept events.
    pub events: Vec<Value>,
    /// The cost in millionths of a dollar, if known.
    pub cost: Option<u64>,
    /// The cost of the reflection, if there was one.
    pub reflection_cost: Option<u64>,
    /// The stored diagnosis.
    pub diagnosis: Option<Value>,
}

impl RunView {
    /// Returns a run of this process.
    pub(super) fn of_live(run: &LiveRun) -> Self {
        Self {
            finished: run.finished,
            stop: run.stop,
            queue: run.queue,
            published: run.event_count,
            used: run.used,
            // The registry wrote this JSON, so it parses.
            events: run
                .events
                .iter()
                .filter_map(|json| serde_json::from_str(json).ok())
                .collect(),
            cost: run.cost,
            reflection_cost: run.reflection_cost,
            ..Self::of_facts(run.id.clone(), run.facts.clone(), run.started_at)
        }
    }

    /// Returns a live run of another process, or `None` if a version with other facts wrote its row.
    pub(super) fn of_row(row: &LiveRow, events: Vec<Value>) -> Option<Self> {
        let facts = row.facts.clone()?;
        let last = events
            .iter()
            .filter_map(|event| event.get("seq")?.as_u64())
            .max();
        Some(Self {
            stop: row.stop,
            published: last.unwrap_or(0),
            used: RunUse::of_events(&events, facts.model.as_deref()),
            events,
            ..Self::of_facts(row.id.clone(), facts, row.started_at)
        })
    }

    /// Returns a stored run.
    pub(super) fn of_record(record: RunRecord) -> Self {
        let mut used = RunUse::of_events(&record.events, record.model.as_deref());
        // A long record has not all of its events.
        used.turns = used.turns.max(record.step_count.map_or(0, u64::from));
        Self {
            label: record.label.unwrap_or_else(|| record.id.to_string()),
            id: record.id,
            agent: record.agent,
            model: record.model,
            repo: record.repo,
            channel_id: record.channel_id,
            user_id: record.user_id,
            visibility: record.channel_visibility,
            thread_key: ThreadKey::from_text(&record.thread_key),
            received_at: record.received_at,
            started_at: record.started_at,
            finished: Some((record.finished_at, record.status)),
            stop: None,
            queue: None,
            published: record.event_count,
            used,
            events: record.events,
            cost: record.extra.get(COST).and_then(Value::as_u64),
            reflection_cost: record.extra.get(REFLECTION_COST).and_then(Value::as_u64),
            diagnosis: Some(record.diagnosis).filter(|diagnosis| !diagnosis.is_null()),
        }
    }

    /// Returns a live run without events.
    #[must_use]
    pub fn of_facts(id: RunId, facts: RunFacts, started_at: UnixMillis) -> Self {
        Self {
            id,
            label: facts.label,
            agent: Some(facts.agent),
            model: facts.model,
            repo: facts.repo,
            channel_id: facts.channel_id,
            user_id: facts.user_id,
            visibility: facts.visibility,
            thread_key: Some(facts.thread_key),
            received_at: Some(facts.received_at),
            started_at,
            finished: None,
            stop: None,
            queue: None,
            published: 0,
            used: RunUse::default(),
            events: Vec::new(),
            cost: None,
            reflection_cost: None,
            diagnosis: None,
        }
    }
}
