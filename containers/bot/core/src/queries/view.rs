//! A single run with events, live or finished.

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
    /// Id of the run.
    pub id: RunId,
    /// The title in lists.
    pub label: String,
    /// Agent name, if known.
    pub agent: Option<String>,
    /// Model name as `provider/model`.
    pub model: Option<String>,
    /// Repository, if the run has any.
    pub repo: Option<String>,
    /// Namespaced id of the channel.
    pub channel_id: String,
    /// Namespaced id of the user.
    pub user_id: String,
    /// Who may see the channel.
    pub visibility: Visibility,
    /// The thread, if the stored key is readable.
    pub thread_key: Option<ThreadKey>,
    /// When the request was received.
    pub received_at: Option<UnixMillis>,
    /// Time at which it was created.
    pub started_at: UnixMillis,
    /// End time and outcome, once finished.
    pub finished: Option<(UnixMillis, RunStatus)>,
    /// The stop, once requested.
    pub stop: Option<StopMode>,
    /// Queue place, for this process's run that waits for a slot.
    pub queue: Option<QueuePlace>,
    /// Number of published events, including evicted ones.
    pub published: u64,
    /// What it has used, evicted events included.
    pub used: RunUse,
    /// The events still kept.
    pub events: Vec<Value>,
    /// Cost in millionths of a dollar, if known.
    pub cost: Option<u64>,
    /// The reflection's cost, if the run reflected.
    pub reflection_cost: Option<u64>,
    /// Diagnosis as stored in the record.
    pub diagnosis: Option<Value>,
}

impl RunView {
    /// Views a run in this process.
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

    /// Returns another process's live run, or `None` if a version with other facts wrote the row.
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
        // A long record does not have all events.
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
