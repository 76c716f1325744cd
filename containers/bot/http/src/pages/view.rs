//! One run as the pages see it, whether it lives in the registry or in the history.

use ars_bot_core::{
    history::{COST, REFLECTION_COST},
    registry::LiveRun,
};
use ars_runs::RunRecord;
use ars_types::{RunId, RunStatus, StopMode, UnixMillis, Visibility};
use serde_json::Value;

/// A run.
#[derive(Debug, Clone)]
pub(crate) struct RunView {
    /// The run.
    pub(crate) id: RunId,
    /// What it is about.
    pub(crate) label: String,
    /// The agent.
    pub(crate) agent: Option<String>,
    /// `provider/model`.
    pub(crate) model: Option<String>,
    /// The repository.
    pub(crate) repo: Option<String>,
    /// Namespaced channel.
    pub(crate) channel_id: String,
    /// Namespaced user.
    pub(crate) user_id: String,
    /// Who may see the channel.
    pub(crate) visibility: Visibility,
    /// When its request was received.
    pub(crate) received_at: Option<UnixMillis>,
    /// When it was created.
    pub(crate) started_at: UnixMillis,
    /// When and how it finished.
    pub(crate) finished: Option<(UnixMillis, RunStatus)>,
    /// How it was asked to stop.
    pub(crate) stop: Option<StopMode>,
    /// Events published, kept or not.
    pub(crate) published: u64,
    /// Kept events.
    pub(crate) events: Vec<Value>,
    /// What it cost, in millionths of a dollar, when that is known.
    pub(crate) cost: Option<u64>,
    /// What reflecting on it cost afterwards, if it was reflected on.
    pub(crate) reflection_cost: Option<u64>,
    /// What slowed it, when that is stored.
    pub(crate) diagnosis: Option<Value>,
}

impl RunView {
    /// A run of this process.
    pub(crate) fn of_live(run: &LiveRun) -> Self {
        let facts = run.facts.clone();
        Self {
            id: run.id.clone(),
            label: facts.label,
            agent: Some(facts.agent),
            model: facts.model,
            repo: facts.repo,
            channel_id: facts.channel_id,
            user_id: facts.user_id,
            visibility: facts.visibility,
            received_at: Some(facts.received_at),
            started_at: run.started_at,
            finished: run.finished,
            stop: run.stop,
            published: run.event_count,
            // The registry made this JSON itself; text that does not parse back cannot occur and would be left out.
            events: run.events.iter().filter_map(|json| serde_json::from_str(json).ok()).collect(),
            cost: run.cost,
            reflection_cost: run.reflection_cost,
            diagnosis: None,
        }
    }

    /// A stored run.
    pub(crate) fn of_record(record: RunRecord) -> Self {
        Self {
            label: record.label.unwrap_or_else(|| record.id.to_string()),
            id: record.id,
            agent: record.agent,
            model: record.model,
            repo: record.repo,
            channel_id: record.channel_id,
            user_id: record.user_id,
            visibility: record.channel_visibility,
            received_at: record.received_at,
            started_at: record.started_at,
            finished: Some((record.finished_at, record.status)),
            stop: None,
            published: record.event_count,
            events: record.events,
            cost: record.extra.get(COST).and_then(Value::as_u64),
            reflection_cost: record.extra.get(REFLECTION_COST).and_then(Value::as_u64),
            diagnosis: Some(record.diagnosis).filter(|diagnosis| !diagnosis.is_null()),
        }
    }

    /// The status word of lists and pages.
    pub(crate) fn status(&self) -> &'static str {
        status_word(self.finished.map(|(_, status)| status), self.stop)
    }
}

/// `running`, `stopping`, or how the run ended.
pub(super) fn status_word(finished: Option<RunStatus>, stop: Option<StopMode>) -> &'static str {
    match (finished, stop) {
        (Some(status), _) => status.as_str(),
        (None, Some(_)) => "stopping",
        (None, None) => "running",
    }
}

/// The status in words.
pub(super) fn status_text(word: &str) -> String {
    let mut text = word.replace('_', " ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
