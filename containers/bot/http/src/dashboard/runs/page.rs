//! The list page for runs.

use ars_bot_core::queries::{Page, RunSummary};
use ars_types::{RunId, UnixMillis};
use ars_wire::Moment;
use askama::Template;
use axum::response::Response;
use serde::Serialize;

use super::listing::{Choice, Facet, Listing, Part};
use crate::{
    dashboard::shell::{Nav, is_rehearsal, queue_text, render, status_text, status_word},
    time::{duration, iso},
};

/// A run in the list, also the payload in the change stream.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// The run's id.
    pub(crate) id: RunId,
    /// The run's page, with the token if the run is live.
    url: String,
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<String>,
    status: &'static str,
    /// A waiting run's place in the queue, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    finished: bool,
    started_at: UnixMillis,
    /// `None` for a live run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<Moment>,
    /// The cost in millionths of a dollar, if known.
    #[serde(rename = "costMicroUsd", skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
}

impl Row {
    /// Returns a run's row.
    pub(crate) fn new(run: RunSummary) -> Self {
        let outcome = run.finished.map(|(_, status)| status);
        let url = match (&run.token, outcome) {
            (Some(token), None) => format!("/runs/{}?t={token}", run.id),
            _ => format!("/runs/{}", run.id),
        };
        Self {
            id: run.id,
            url,
            label: run.label,
            agent: run.agent,
            model: run.model,
            repo: run.repo,
            status: status_word(outcome, run.stop, run.queue),
            queue: queue_text(run.queue),
            finished: outcome.is_some(),
            started_at: run.started_at,
            finished_at: run.finished.map(|(at, _)| at),
            cost: run.cost,
        }
    }

    fn rehearsal(&self) -> bool {
        is_rehearsal(self.model.as_deref())
    }

    pub(crate) fn status(&self) -> &str {
        self.status
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn status_text(&self) -> String {
        status_text(self.status)
    }

    fn started_iso(&self) -> String {
        iso(self.started_at)
    }

    fn took(&self, now: UnixMillis) -> String {
        duration(
            self.finished_at
                .map_or(now, Moment::rounded)
                .saturating_sub(self.started_at),
        )
    }
}

/// Template for the list page.
#[derive(Template)]
#[template(path = "index.html")]
pub(crate) struct IndexPage {
    nav: Nav,
    part: Part,
    is_filtered: bool,
    parts: Vec<Choice>,
    facets: Vec<Facet>,
    rows: Vec<Row>,
    older: Option<String>,
    store_failed: bool,
    history_off: bool,
    now: UnixMillis,
}

impl IndexPage {
    /// Returns a list's page.
    pub(crate) fn new(nav: Nav, listing: &Listing, page: Page, now: UnixMillis) -> Self {
        let runs = [page.active, page.finished].concat();
        Self {
            nav,
            part: listing.part,
            is_filtered: listing.is_filtered(),
            parts: listing.parts(),
            facets: listing.facets(&runs),
            rows: runs.into_iter().map(Row::new).collect(),
            older: page.older.map(|cursor| listing.url(Some(&cursor))),
            store_failed: page.store_unavailable,
            history_off: page.history_off,
            now,
        }
    }

    /// Returns the page as an answer.
    pub(crate) fn into_response(self) -> Response {
        render(&self)
    }

    /// Returns the text for a list without rows.
    fn empty_text(&self) -> &'static str {
        match (self.is_filtered, self.part) {
            _ if self.store_failed => "No run can be listed now.",
            _ if self.older.is_some() => "None of these runs match. Older runs may.",
            (true, _) => "No run matches these filters.",
            (false, Part::Active) => "Nothing is running.",
            (false, Part::Finished) => "No run has finished yet.",
            (false, Part::All) => "There are no runs yet.",
        }
    }

    fn part_word(&self) -> &'static str {
        match self.part {
            Part::Active => "active",
            Part::Finished => "finished",
            Part::All => "all",
        }
    }
}

#[cfg(test)]
mod tests {
    use ars_bot_core::queries::RunFilter;
    use ars_wire::runs::Cursor;

    use super::*;

    #[test]
    fn page_shows_next_link_and_missing_history() {
        let older = Some(Cursor {
            finished_at: Moment::new(7.5).unwrap(),
            id: RunId::parse("r9").unwrap(),
        });
        let page = Page {
            older,
            store_unavailable: true,
            ..Page::default()
        };
        let listing = Listing {
            part: Part::All,
            filter: RunFilter::default(),
        };
        let html = IndexPage::new(Nav::bare(), &listing, page, 0)
            .render()
            .unwrap();
        assert!(
            html.contains("/runs?all=1&#38;before=7.5&#38;beforeId=r9"),
            "{html}"
        );
        assert!(
            html.contains("role=\"alert\"") && html.contains("No run can be listed now."),
            "{html}"
        );
    }

    /// The store looked through only part of the history.
    #[test]
    fn empty_page_before_older_runs_does_not_deny_them() {
        let text = |older: Option<Cursor>| {
            let filter = RunFilter {
                agent: Some("coding".into()),
                ..RunFilter::default()
            };
            let page = Page {
                older,
                ..Page::default()
            };
            let listing = Listing {
                part: Part::All,
                filter,
            };
            IndexPage::new(Nav::bare(), &listing, page, 0).empty_text()
        };
        assert_eq!(text(None), "No run matches these filters.");
        let older = Cursor {
            finished_at: Moment::new(7.5).unwrap(),
            id: RunId::parse("r9").unwrap(),
        };
        assert_eq!(
            text(Some(older)),
            "None of these runs match. Older runs may."
        );
    }
}
