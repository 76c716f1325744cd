//! Pieces that every page shares: status texts and the rendered answer.

use ars_bot_core::registry::QueuePlace;
use ars_bot_ports::texts;
use ars_types::{RunStatus, StopMode};
use axum::{http::StatusCode, response::Response};

use crate::respond;

/// Scripted models' provider. Their runs are labelled as rehearsals.
const REHEARSAL: &str = "rehearsal/";

/// Returns `true` for a scripted model.
pub(crate) fn is_rehearsal(model: Option<&str>) -> bool {
    model.is_some_and(|model| model.starts_with(REHEARSAL))
}

/// Returns `queued`, `running`, `stopping`, or the outcome.
pub(crate) fn status_word(
    outcome: Option<RunStatus>,
    stop: Option<StopMode>,
    queue: Option<QueuePlace>,
) -> &'static str {
    match (outcome, stop, queue) {
        (Some(status), ..) => status.as_str(),
        (None, Some(_), _) => "stopping",
        (None, None, Some(_)) => "queued",
        (None, None, None) => "running",
    }
}

/// Returns a waiting run's place, for display.
pub(crate) fn queue_text(queue: Option<QueuePlace>) -> Option<String> {
    queue.map(|QueuePlace { position, limit }| texts::queue_place(position, limit))
}

/// Returns the status for display.
pub(crate) fn status_text(word: &str) -> String {
    let mut text = word.replace('_', " ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// Returns the page as an answer.
pub(crate) fn render(page: &impl askama::Template) -> Response {
    match page.render() {
        Ok(text) => respond::html(text),
        Err(error) => {
            tracing::error!(error = %error, "page not rendered");
            respond::plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "The page could not be made.\n",
            )
        }
    }
}
