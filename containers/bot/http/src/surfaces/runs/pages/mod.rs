//! The pages: what they show, taken from a run's state or record, and their templates.

mod docs;
mod index;
mod outline;
mod run;

pub(crate) use docs::DocsPage;
pub(crate) use index::{IndexPage, Row};
pub(crate) use run::RunPage;

use ars_types::{RunStatus, StopMode};
use axum::{http::StatusCode, response::Response};

use crate::respond;

/// What marks a model that is not one: a rehearsal is labelled wherever its words appear.
const REHEARSAL: &str = "rehearsal/";

/// Whether a model's words are a script's.
fn is_rehearsal(model: Option<&str>) -> bool {
    model.is_some_and(|model| model.starts_with(REHEARSAL))
}

/// Returns `running`, `stopping`, or the outcome.
fn status_word(outcome: Option<RunStatus>, stop: Option<StopMode>) -> &'static str {
    match (outcome, stop) {
        (Some(status), _) => status.as_str(),
        (None, Some(_)) => "stopping",
        (None, None) => "running",
    }
}

/// Returns the status for display.
fn status_text(word: &str) -> String {
    let mut text = word.replace('_', " ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// The page as an answer.
fn render(page: &impl askama::Template) -> Response {
    match page.render() {
        Ok(text) => respond::html(text),
        Err(error) => {
            tracing::error!(error = %error, "page not rendered");
            respond::plain(StatusCode::INTERNAL_SERVER_ERROR, "The page could not be made.\n")
        }
    }
}
