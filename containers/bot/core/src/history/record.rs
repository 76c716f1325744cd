//! Building a run's record from its state in the registry (document 2 section 2.3).

use ars_friction::{Interval, Options, analyze};
use ars_runs::{COST, RunRecord, SCHEMA_WITH_SPANS, budget};
use ars_types::{RunStatus, UnixMillis};
use serde_json::{Map, Value};

use crate::registry::LiveRun;

/// How a run ended, as its record tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    /// The status.
    pub status: RunStatus,
    /// When. Equal to the start for the provisional record written at the start (document 2 section 3.2).
    pub finished_at: UnixMillis,
    /// Model calls answered.
    pub steps: Option<u32>,
    /// What the run cost, in millionths of a dollar, when that is known.
    pub cost: Option<u64>,
}

/// The record is the one written at the run's start (document 2 section 3.2): nothing of its end is in it.
pub fn is_provisional(record: &RunRecord) -> bool {
    record.status == RunStatus::Interrupted && record.finished_at == record.started_at
}

/// The record of a run, within the byte budget.
pub fn record(run: &LiveRun, end: RunEnd) -> RunRecord {
    let events: Vec<Value> = run.events.iter().filter_map(|json| serde_json::from_str(json).ok()).collect();
    let facts = &run.facts;
    // What the requester waited: from the request, before there was a run, to its end (bot supplement section 24).
    let window = Interval { start: facts.received_at, end: end.finished_at };
    let options = Options { window: Some(window), schema: Some(SCHEMA_WITH_SPANS), ..Options::default() };
    let diagnosis = analyze(&events, &options);
    let record = RunRecord {
        id: run.id.clone(),
        label: Some(facts.label.clone()),
        agent: Some(facts.agent.clone()),
        model: facts.model.clone(),
        channel_id: facts.channel_id.clone(),
        user_id: facts.user_id.clone(),
        thread_key: facts.thread_key.as_str().to_owned(),
        channel_visibility: facts.visibility,
        repo: facts.repo.clone(),
        started_at: run.started_at,
        finished_at: end.finished_at,
        received_at: Some(facts.received_at),
        sealed_at: run.sealed.map(|(at, _)| at),
        reply_ok: run.sealed.and_then(|(_, reply_ok)| reply_ok),
        step_count: end.steps,
        schema: Some(SCHEMA_WITH_SPANS),
        status: end.status,
        event_count: run.event_count,
        stored_event_count: events.len() as u64,
        truncated: run.event_count != events.len() as u64,
        events,
        diagnosis: serde_json::to_value(diagnosis).unwrap_or_default(),
        extra: Map::from_iter(end.cost.map(|cost| (COST.to_owned(), cost.into()))),
    };
    budget::fit(record)
}
