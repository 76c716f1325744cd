//! A single listed run, without events.

use ars_auth::Viewer;
use ars_runs::StoredRun;
use ars_types::{RunId, RunStatus, StopMode, UnixMillis, Visibility};
use ars_wire::Moment;

use crate::live::LiveRow;
use crate::registry::{LiveRun, QueuePlace, RunFacts};

/// A listed run. It holds a capability token, so it has no `Serialize`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
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
    /// Time at which it was created.
    pub started_at: UnixMillis,
    /// End time and outcome, once finished.
    pub finished: Option<(Moment, RunStatus)>,
    /// The stop, once requested.
    pub stop: Option<StopMode>,
    /// Queue place, for this process's run that waits for a slot.
    pub queue: Option<QueuePlace>,
    /// Cost in millionths of a dollar, if known.
    pub cost: Option<u64>,
    /// A live run's capability token: for links on gated pages only.
    pub token: Option<String>,
}

impl RunSummary {
    /// Summarizes a run in this process.
    pub(super) fn of_live(run: &LiveRun) -> Self {
        let is_live = run.finished.is_none();
        Self {
            finished: run.finished.map(|(at, status)| (Moment::from(at), status)),
            stop: run.stop,
            queue: run.queue,
            cost: run.cost,
            token: is_live.then(|| run.token.clone()),
            ..Self::of_facts(run.id.clone(), run.facts.clone(), run.started_at)
        }
    }

    /// Returns another process's live run, or `None` if another version wrote the row.
    pub(super) fn of_row(row: &LiveRow) -> Option<Self> {
        let facts = row.facts.clone()?;
        Some(Self {
            stop: row.stop,
            token: row.token.clone(),
            ..Self::of_facts(row.id.clone(), facts, row.started_at)
        })
    }

    /// Returns a stored run.
    pub fn of_stored(stored: StoredRun) -> Self {
        Self {
            label: stored.label.unwrap_or_else(|| stored.id.to_string()),
            id: stored.id,
            agent: stored.agent,
            model: stored.model,
            repo: stored.repo,
            channel_id: stored.channel_id,
            user_id: stored.user_id,
            // Never assumed public.
            visibility: stored.channel_visibility.unwrap_or(Visibility::Unknown),
            started_at: stored.started_at.rounded(),
            finished: Some((stored.finished_at, stored.status)),
            stop: None,
            queue: None,
            cost: stored.cost_micro_usd,
            token: None,
        }
    }

    /// Returns `true` if the viewer may read the run.
    pub fn is_readable(&self, viewer: &Viewer) -> bool {
        viewer.may_read(&self.channel_id, self.visibility, &self.user_id)
    }

    /// Returns `true` if the stored run has only a provisional record.
    pub(super) fn is_provisional(&self) -> bool {
        self.finished == Some((Moment::from(self.started_at), RunStatus::Interrupted))
    }

    /// Returns the position among finished runs; greater is newer.
    pub(super) fn order(&self) -> (Moment, &str) {
        let finished_at = self
            .finished
            .map_or(Moment::from(UnixMillis::MAX), |(at, _)| at);
        (finished_at, self.id.as_str())
    }

    fn of_facts(id: RunId, facts: RunFacts, started_at: UnixMillis) -> Self {
        Self {
            id,
            label: facts.label,
            agent: Some(facts.agent),
            model: facts.model,
            repo: facts.repo,
            channel_id: facts.channel_id,
            user_id: facts.user_id,
            visibility: facts.visibility,
            started_at,
            finished: None,
            stop: None,
            queue: None,
            cost: None,
            token: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_summary_needs_only_its_fields() {
        let run = |item| RunSummary::of_stored(serde_json::from_value(item).unwrap());
        let item = json!({"id": "r1", "channelId": "c", "userId": "u", "status": "failed",
            "startedAt": 1, "finishedAt": 2, "later": true});
        let first = run(item);
        assert_eq!(
            (first.visibility, first.label.as_str()),
            (Visibility::Unknown, "r1")
        );
        let item = json!({"id": "r1", "channelId": "c", "userId": "u", "status": "failed",
            "startedAt": 1.25, "finishedAt": 2e3});
        let second = run(item);
        let expected = Some((Moment::from(2000), RunStatus::Failed));
        assert_eq!((second.started_at, second.finished), (1, expected));
    }
}
