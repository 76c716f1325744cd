//! A run with every stored fact but the events, as commands show it.

use ars_auth::Viewer;
use ars_runs::{PostedReviewFact, PullRequestFact, StoredRun, fact};
use ars_types::Generation;
use ars_wire::Moment;
use serde_json::{Number, Value};

use super::RunSummary;
use crate::{live::LiveRow, registry::LiveRun};

/// A run from a list or a point read.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEntry {
    /// The facts that pages show too.
    pub summary: RunSummary,
    /// Other facts, for commands only.
    pub detail: RunDetail,
}

/// Run facts that only commands show. Absent facts are unknown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunDetail {
    /// Key of the thread.
    pub thread_key: Option<String>,
    /// When the request arrived.
    pub received_at: Option<Moment>,
    /// When the event stream was sealed.
    pub sealed_at: Option<Moment>,
    /// Whether the reply was delivered.
    pub reply_ok: Option<bool>,
    /// Number of loop steps.
    pub step_count: Option<Number>,
    /// Schema version of the record.
    pub schema: Option<Number>,
    /// Number of published events.
    pub event_count: Option<Number>,
    /// Number of stored events.
    pub stored_event_count: Option<Number>,
    /// Whether stored events are missing.
    pub truncated: Option<bool>,
    /// Diagnosis as stored in the record.
    pub diagnosis: Option<Value>,
    /// Record size in bytes.
    pub bytes: Option<Number>,
    /// Position among the runs that wait for a slot.
    pub queue_position: Option<u32>,
    /// The pull request it opened.
    pub pull_request: Option<PullRequestFact>,
    /// The review that it posted.
    pub posted_review: Option<PostedReviewFact>,
    /// What the run is doing, as the channel shows it.
    pub activity: Option<String>,
    /// Link to the request.
    pub source_url: Option<String>,
    /// Display name of the user.
    pub user_name: Option<String>,
    /// The process that drives it, if it is not this process.
    pub owner: Option<Generation>,
    /// The run is read from the history.
    pub is_persisted: bool,
}

impl RunEntry {
    pub(super) fn of_live(run: &LiveRun) -> Self {
        let detail = RunDetail {
            thread_key: Some(run.facts.thread_key.to_string()),
            received_at: Some(run.facts.received_at.into()),
            sealed_at: run.sealed.map(|(at, _)| at.into()),
            reply_ok: run.sealed.and_then(|(_, reply_ok)| reply_ok),
            event_count: Some(run.event_count.into()),
            queue_position: run.queue.map(|place| place.position),
            ..RunDetail::default()
        };
        Self {
            summary: RunSummary::of_live(run),
            detail,
        }
    }

    /// Returns another process's live run, or `None` if another version wrote the row.
    pub(super) fn of_row(row: &LiveRow) -> Option<Self> {
        let facts = row.facts.as_ref()?;
        let detail = RunDetail {
            thread_key: Some(facts.thread_key.to_string()),
            received_at: Some(facts.received_at.into()),
            owner: Some(row.owner.clone()),
            ..RunDetail::default()
        };
        Some(Self {
            summary: RunSummary::of_row(row)?,
            detail,
        })
    }

    /// Returns a stored run.
    pub fn of_stored(mut run: StoredRun) -> Self {
        let detail = RunDetail {
            thread_key: run.thread_key.take(),
            received_at: run.received_at,
            sealed_at: run.sealed_at,
            reply_ok: run.reply_ok,
            step_count: run.step_count.take(),
            schema: run.schema.take(),
            event_count: run.event_count.take(),
            stored_event_count: run.stored_event_count.take(),
            truncated: run.truncated,
            diagnosis: run
                .diagnosis
                .take()
                .filter(|diagnosis| !diagnosis.is_null()),
            bytes: run.bytes.take(),
            queue_position: None,
            pull_request: fact(run.pull_request.as_ref()),
            posted_review: fact(run.posted_review.as_ref()),
            activity: run.activity.take(),
            source_url: run.source_url.take(),
            user_name: run.user_name.take(),
            owner: None,
            is_persisted: true,
        };
        Self {
            summary: RunSummary::of_stored(run),
            detail,
        }
    }

    /// Returns `true` if the viewer may read the run.
    pub fn is_readable(&self, viewer: &Viewer) -> bool {
        self.summary.is_readable(viewer)
    }
}
