//! The schedules page. It shows no run.

use ars_types::UnixMillis;
use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use crate::{
    dashboard::shell::{Nav, render, status_text},
    respond,
    time::{duration, iso},
};

/// Template for the schedules page.
#[derive(Template)]
#[template(path = "schedules.html")]
pub(crate) struct SchedulesPage {
    nav: Nav,
    listed: Listed,
    now: UnixMillis,
}

/// The parts of the command's output that the page shows.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    schedules: Vec<Schedule>,
    firings_unavailable: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Schedule {
    name: String,
    action: String,
    cron: String,
    description: String,
    command: Option<String>,
    next_fire_at: Option<UnixMillis>,
    last: Option<Last>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Last {
    fired_at: UnixMillis,
    outcome: String,
    detail: Option<String>,
}

impl SchedulesPage {
    /// Returns the page for `schedule.list` output.
    pub(crate) fn response(nav: Nav, json: &str, now: UnixMillis) -> Response {
        match serde_json::from_str(json) {
            Ok(listed) => render(&Self { nav, listed, now }),
            Err(error) => {
                tracing::error!(error = %error, "schedules not readable");
                respond::plain(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "The schedules could not be shown.\n",
                )
            }
        }
    }
}

impl Schedule {
    fn next_iso(&self) -> Option<String> {
        self.next_fire_at.map(iso)
    }

    fn wait(&self, now: &UnixMillis) -> String {
        self.next_fire_at
            .map_or_else(String::new, |at| duration(at - now))
    }
}

impl Last {
    fn iso(&self) -> String {
        iso(self.fired_at)
    }

    fn outcome_text(&self) -> String {
        status_text(&self.outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_the_command_is_shown_as_text() {
        let json = r#"{"schedules":[{"name":"nightly","worker":"edge","action":"run","cron":"0 3 * * *",
            "description":"<b>","command":"friction report","nextFireAt":3600000,
            "last":{"firedAt":1,"runId":"secret-run","outcome":"ingress_error","detail":"HTTP 503"}}]}"#;
        let listed = serde_json::from_str(json).unwrap();
        let html = SchedulesPage {
            nav: Nav::bare(),
            listed,
            now: 0,
        }
        .render()
        .unwrap();
        for part in [
            "nightly",
            "0 3 * * *",
            "&#60;b&#62;",
            "Ingress error",
            "HTTP 503",
            "1h 00m",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("secret-run"));
    }
}
