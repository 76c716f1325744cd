//! The outcomes page. It shows no run.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use crate::{
    dashboard::shell::{Nav, render},
    respond,
    time::duration,
};

/// Micro-dollars in a dollar.
const MICRO: f64 = 1_000_000.0;

/// Template for the outcomes page.
#[derive(Template)]
#[template(path = "outcomes.html")]
pub(crate) struct OutcomesPage {
    nav: Nav,
    totals: Totals,
}

/// The command's parsed output.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    runs_read: u64,
    truncated: bool,
    outcomes: Vec<Outcome>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    repo: String,
    agent: String,
    pull_requests_opened: u64,
    pull_requests_merged: u64,
    pull_requests_closed: u64,
    time_to_merge_ms: Option<i64>,
    cost_per_merged_micro_usd: Option<u64>,
    reviews_posted: u64,
    findings_resolved: u64,
}

impl OutcomesPage {
    /// Returns the page for `runs.outcomes` output.
    pub(crate) fn response(nav: Nav, json: &str) -> Response {
        match serde_json::from_str(json) {
            Ok(totals) => render(&Self { nav, totals }),
            Err(error) => {
                tracing::error!(error = %error, "outcomes not readable");
                respond::plain(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "The outcomes could not be shown.\n",
                )
            }
        }
    }
}

impl Outcome {
    fn time(&self) -> String {
        self.time_to_merge_ms
            .map_or_else(|| "—".to_owned(), duration)
    }

    fn cost(&self) -> String {
        let dollars = |microusd: u64| format!("${:.2}", microusd as f64 / MICRO);
        self.cost_per_merged_micro_usd
            .map_or_else(|| "—".to_owned(), dollars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_the_command_is_shown_as_text() {
        let json = r#"{"runsRead":7,"truncated":false,"outcomes":[{"repo":"acme/<b>","agent":"coding",
            "pullRequestsOpened":4,"pullRequestsMerged":2,"pullRequestsClosed":1,"timeToMergeMs":3600000,
            "costPerMergedMicroUsd":1234567,"reviewsPosted":0,"findingsResolved":0}]}"#;
        let totals = serde_json::from_str(json).unwrap();
        let html = OutcomesPage {
            nav: Nav::bare(),
            totals,
        }
        .render()
        .unwrap();
        for part in [
            "acme/&#60;b&#62;",
            "coding",
            "1h 00m",
            "$1.23",
            "<td>4</td>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
