//! The index of runs.

use ars_bot_core::registry::LiveRun;
use ars_types::{RunId, RunStatus, UnixMillis, Visibility};
use ars_wire::{Moment, runs::Cursor};
use askama::Template;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    is_rehearsal, render,
    view::{status_text, status_word},
};
use crate::{
    time::{duration, iso},
    viewer::Viewer,
};

/// One run in a list; also the payload of the index feed.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// The run.
    pub(crate) id: RunId,
    /// Where the row leads; with the run's token while it is live.
    url: String,
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<String>,
    status: &'static str,
    started_at: UnixMillis,
    /// Absent while the run is live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<Moment>,
    /// What it cost, in millionths of a dollar, when that is known.
    #[serde(rename = "costMicroUsd", skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
    /// Whose run it is; not shown.
    #[serde(skip)]
    access: (String, Visibility, String),
}

/// What a list needs of a stored record; a record of a later version may hold more.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    id: RunId,
    label: Option<String>,
    agent: Option<String>,
    model: Option<String>,
    repo: Option<String>,
    channel_id: String,
    user_id: String,
    channel_visibility: Option<Visibility>,
    status: RunStatus,
    started_at: Moment,
    finished_at: Moment,
    #[serde(rename = "costMicroUsd")]
    cost: Option<u64>,
}

impl Row {
    /// A run of this process.
    pub(crate) fn of_live(run: &LiveRun) -> Self {
        let facts = &run.facts;
        let url = match run.finished {
            None => format!("/runs/{}?t={}", run.id, run.token),
            Some(_) => format!("/runs/{}", run.id),
        };
        Self {
            id: run.id.clone(),
            url,
            label: facts.label.clone(),
            agent: Some(facts.agent.clone()),
            model: facts.model.clone(),
            repo: facts.repo.clone(),
            status: status_word(run.finished.map(|(_, status)| status), run.stop),
            started_at: run.started_at,
            finished_at: run.finished.map(|(at, _)| Moment::from(at)),
            cost: run.cost,
            access: (facts.channel_id.clone(), facts.visibility, facts.user_id.clone()),
        }
    }

    /// A stored run; none when the store's row is not a record.
    pub(crate) fn of_stored(item: Value) -> Option<Self> {
        let stored: Stored = serde_json::from_value(item).ok()?;
        Some(Self {
            url: format!("/runs/{}", stored.id),
            label: stored.label.unwrap_or_else(|| stored.id.to_string()),
            id: stored.id,
            agent: stored.agent,
            model: stored.model,
            repo: stored.repo,
            status: stored.status.as_str(),
            started_at: stored.started_at.rounded(),
            finished_at: Some(stored.finished_at),
            cost: stored.cost,
            access: (
                stored.channel_id,
                stored.channel_visibility.unwrap_or(Visibility::Unknown),
                stored.user_id,
            ),
        })
    }

    /// Whether the viewer may see it.
    pub(crate) fn is_readable(&self, viewer: &Viewer) -> bool {
        let (channel, visibility, user) = &self.access;
        viewer.may_read(channel, *visibility, user)
    }

    /// Position among finished runs; greater is newer (bot supplement section 6.1, "List order").
    pub(crate) fn order(&self) -> (Moment, &str) {
        (self.finished_at.unwrap_or(Moment::from(UnixMillis::MAX)), self.id.as_str())
    }

    fn rehearsal(&self) -> bool {
        is_rehearsal(self.model.as_deref())
    }

    fn status_text(&self) -> String {
        status_text(self.status)
    }

    fn started_iso(&self) -> String {
        iso(self.started_at)
    }

    fn took(&self, now: UnixMillis) -> String {
        duration(self.finished_at.map_or(now, Moment::rounded).saturating_sub(self.started_at))
    }
}

/// The page.
#[derive(Template)]
#[template(path = "index.html")]
pub(crate) struct IndexPage {
    is_all: bool,
    active: Vec<Row>,
    finished: Vec<Row>,
    older: Option<String>,
    store_failed: bool,
    now: UnixMillis,
}

impl IndexPage {
    /// Active runs only.
    pub(crate) fn active(active: Vec<Row>, now: UnixMillis) -> Self {
        Self { is_all: false, active, finished: Vec::new(), older: None, store_failed: false, now }
    }

    /// A page of all runs.
    pub(crate) fn all(
        active: Vec<Row>,
        finished: Vec<Row>,
        older: Option<Cursor>,
        store_failed: bool,
        now: UnixMillis,
    ) -> Self {
        let older = older.map(|at| format!("/runs?all=1&before={}&beforeId={}", at.finished_at, at.id));
        Self { is_all: true, active, finished, older, store_failed, now }
    }

    /// The page as an answer.
    pub(crate) fn into_response(self) -> Response {
        render(&self)
    }

    /// Every row in display order.
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.active.iter().chain(&self.finished)
    }

    fn is_empty(&self) -> bool {
        self.rows().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_row_needs_only_what_it_shows() {
        let row = Row::of_stored(json!({"id": "r1", "channelId": "c", "userId": "u", "status": "failed",
            "startedAt": 1, "finishedAt": 2, "later": true}))
        .unwrap();
        assert_eq!(row.access.1, Visibility::Unknown);
        assert_eq!((row.label.as_str(), row.url.as_str()), ("r1", "/runs/r1"));
        assert!(Row::of_stored(json!({"id": "r1"})).is_none());
        let row = Row::of_stored(json!({"id": "r1", "channelId": "c", "userId": "u", "status": "failed",
            "startedAt": 1.25, "finishedAt": 2e3}))
        .unwrap();
        assert_eq!((row.started_at, row.finished_at), (1, Some(Moment::from(2000))));
    }

    #[test]
    fn a_page_of_all_runs_links_to_the_next_one_and_says_when_the_history_is_missing() {
        let older = Some(Cursor { finished_at: Moment::new(7.5).unwrap(), id: RunId::parse("r9").unwrap() });
        let html = IndexPage::all(Vec::new(), Vec::new(), older, true, 0).render().unwrap();
        assert!(html.contains("/runs?all=1&#38;before=7.5&#38;beforeId=r9"), "{html}");
        assert!(html.contains("role=\"alert\""));
    }
}
