//! The record for a reclaimed run that its new owner closes instead of resuming.
//!
//! The requester comes from the live row, the history from the events stored so far. Not here: the
//! decision to close a run, and its status (`ars_agent::resume`).

use ars_friction::{AnalysisOptions, Interval, analyze};
use ars_types::{RunStatus, UnixMillis, Visibility};
use ars_wire::ledger::Reclaimed;
use serde_json::{Map, Value};

use crate::{
    add_pull_request, budget,
    record::{COST, RESERVED_COST, RunRecord, SCHEMA_WITH_SPANS},
};

/// Texts in a row's `meta` that are copied into the record, besides those with a dedicated field.
const KEPT: [&str; 2] = ["sourceUrl", "userName"];

/// How a reclaimed run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedRun {
    /// The status to record.
    pub status: RunStatus,
    /// When the run was reclaimed. A clock that went backwards does not end a run before its start.
    pub finished_at: UnixMillis,
    /// Cost as of the last stored step, in millionths of a dollar, if known.
    pub cost: Option<u64>,
    /// The run's daily budget reservation, if it may have cost more than `cost`.
    pub reserved: Option<u64>,
}

/// Builds a run's closing record within the byte budget, from the `/runs/live-events` events.
///
/// The claiming version wrote `meta`: a field with another shape than the record's counts as
/// absent.
pub fn closing_record(run: &Reclaimed, mut events: Vec<Value>, closing: ClosedRun) -> RunRecord {
    let last_seq = events
        .iter()
        .filter_map(|event| event.get("seq")?.as_u64())
        .max()
        .unwrap_or(0);
    // The store rejects a record with an untyped event.
    events.retain(|event| event.get("type").is_some_and(Value::is_string));
    let meta = &run.row.meta;
    let text = |name: &str| meta.get(name).and_then(Value::as_str).map(str::to_owned);
    let started_at = run.row.started_at.rounded();
    let received_at = meta.get("receivedAt").and_then(Value::as_i64);
    let finished_at = closing.finished_at.max(started_at);
    let window = Interval {
        start: received_at.unwrap_or(started_at),
        end: finished_at,
    };
    let options = AnalysisOptions {
        window: Some(window),
        schema: Some(SCHEMA_WITH_SPANS),
        ..AnalysisOptions::default()
    };
    let diagnosis = analyze(&events, &options);
    let stored = events.len() as u64;
    // Seqs start at 1 without gaps, so fewer events than the last seq means that some are missing.
    let event_count = last_seq.max(stored);
    let mut record = RunRecord {
        id: run.row.run_id.clone(),
        label: text("label"),
        agent: text("agent"),
        model: text("model"),
        channel_id: text("channelId").unwrap_or_default(),
        user_id: text("userId").unwrap_or_default(),
        thread_key: run.row.thread_key.clone(),
        channel_visibility: text("channelVisibility")
            .and_then(|word| Visibility::parse(&word))
            .unwrap_or(Visibility::Unknown),
        repo: text("repo"),
        started_at,
        finished_at,
        received_at,
        sealed_at: None,
        reply_ok: None,
        step_count: run
            .last_step
            .as_ref()
            .and_then(|step| u32::try_from(step.iteration).ok()),
        schema: Some(SCHEMA_WITH_SPANS),
        status: closing.status,
        event_count,
        stored_event_count: stored,
        truncated: event_count != stored,
        events,
        diagnosis: serde_json::to_value(diagnosis).unwrap_or_default(),
        extra: KEPT
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), Value::from(text(name)?))))
            .chain(closing.cost.map(|cost| (COST.to_owned(), cost.into())))
            .chain(
                closing
                    .reserved
                    .map(|reserved| (RESERVED_COST.to_owned(), reserved.into())),
            )
            .collect::<Map<_, _>>(),
    };
    add_pull_request(&mut record);
    budget::fit(record)
}
