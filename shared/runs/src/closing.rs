//! The record of a run that its new owner closes instead of resuming (state-worker supplement section 9.5).
//!
//! Who asked for what comes from the row, what happened from the events that were stored in time. Not here: whether a
//! run is closed, and with which status (`ars_agent::resume`).

use ars_friction::{Interval, Options, analyze};
use ars_types::{RunStatus, UnixMillis, Visibility};
use ars_wire::ledger::Reclaimed;
use serde_json::{Map, Value};

use crate::{
    budget,
    record::{COST, HELD, RunRecord, SCHEMA_WITH_SPANS},
};

/// Texts of a row's `meta` that a record has too, besides those with a field of their own.
const KEPT: [&str; 2] = ["sourceUrl", "userName"];

/// How a run taken over ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// The status.
    pub status: RunStatus,
    /// When it was taken over. A clock that went back does not end a run before its start.
    pub finished_at: UnixMillis,
    /// What it cost as of its last stored step, in millionths of a dollar, when that is known.
    pub cost: Option<u64>,
    /// What it held of the day's money, when it may have cost more than that.
    pub held: Option<u64>,
}

/// The closing record of a run, from its events as `/runs/live-events` answers them, within the byte budget.
///
/// `meta` is the claiming version's: a field of another shape than a record's counts as absent.
pub fn closing_record(run: &Reclaimed, mut events: Vec<Value>, closing: Closing) -> RunRecord {
    let last_seq = events.iter().filter_map(|event| event.get("seq")?.as_u64()).max().unwrap_or(0);
    // A record is refused for an event without a type.
    events.retain(|event| event.get("type").is_some_and(Value::is_string));
    let meta = &run.row.meta;
    let text = |name: &str| meta.get(name).and_then(Value::as_str).map(str::to_owned);
    let started_at = run.row.started_at.rounded();
    let received_at = meta.get("receivedAt").and_then(Value::as_i64);
    let finished_at = closing.finished_at.max(started_at);
    let window = Interval { start: received_at.unwrap_or(started_at), end: finished_at };
    let options = Options { window: Some(window), schema: Some(SCHEMA_WITH_SPANS), ..Options::default() };
    let diagnosis = analyze(&events, &options);
    let stored = events.len() as u64;
    // Seqs from 1 have no gap, so fewer events than the last seq says are not all of them.
    let event_count = last_seq.max(stored);
    budget::fit(RunRecord {
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
        step_count: run.last_step.as_ref().and_then(|step| u32::try_from(step.iteration).ok()),
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
            .chain(closing.held.map(|held| (HELD.to_owned(), held.into())))
            .collect::<Map<_, _>>(),
    })
}
