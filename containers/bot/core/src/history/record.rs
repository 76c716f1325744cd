//! Builds a run's record from the registry state (docs/reference/runs.md#record).

use ars_friction::{AnalysisOptions, Interval, analyze};
use ars_runs::{COST, RunRecord, SCHEMA_WITH_SPANS, add_posted_review, add_pull_request, budget};
use ars_types::{RunStatus, UnixMillis};
use serde_json::{Map, Value};

use super::checkpoint::add_checkpoint;
use crate::registry::LiveRun;

/// The record fields that the registry does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTotals {
    /// How the run ended.
    pub status: RunStatus,
    /// End time. In the provisional record it equals the start.
    pub finished_at: UnixMillis,
    /// Number of answered model calls.
    pub steps: Option<u32>,
    /// Cost in micro-dollars, if known.
    pub cost: Option<u64>,
}

impl RunTotals {
    /// Returns the provisional record's totals.
    pub const fn provisional(started_at: UnixMillis) -> Self {
        Self {
            status: RunStatus::Interrupted,
            finished_at: started_at,
            steps: None,
            cost: None,
        }
    }
}

/// Returns whether the record is the provisional record, which holds nothing about the run's end.
pub fn is_provisional(record: &RunRecord) -> bool {
    record.status == RunStatus::Interrupted && record.finished_at == record.started_at
}

/// Returns a run's record, within the byte budget.
pub fn record(run: &LiveRun, end: RunTotals) -> RunRecord {
    let events: Vec<Value> = run
        .events
        .iter()
        .filter_map(|json| serde_json::from_str(json).ok())
        .collect();
    let facts = &run.facts;
    // The requester's wait: from the request, which precedes the run, to the end.
    let window = Interval {
        start: facts.received_at,
        end: end.finished_at,
    };
    let options = AnalysisOptions {
        window: Some(window),
        schema: Some(SCHEMA_WITH_SPANS),
        ..AnalysisOptions::default()
    };
    let diagnosis = analyze(&events, &options);
    let mut record = RunRecord {
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
    add_pull_request(&mut record);
    add_posted_review(&mut record, run.posted_review.as_ref());
    add_checkpoint(&mut record);
    budget::fit(record)
}
