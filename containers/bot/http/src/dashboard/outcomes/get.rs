//! `GET /runs/outcomes`: how pull requests and reviews ended, with the result from `runs.outcomes`.

use ars_auth::Actor;
use ars_bot_core::commands::Caller;
use ars_commands::RawInput;
use ars_wire::ErrorCode;
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde_json::Map;

use super::page::OutcomesPage;
use crate::{
    dashboard::shell::{Nav, Section},
    respond,
    state::HttpState,
};

/// The invoked command's id.
const OUTCOMES: &str = "runs.outcomes";
const UNAVAILABLE: &str =
    "The outcomes are not available: run history is off (runHistory.store) or did not answer.\n";

/// Answers with the page.
pub(crate) async fn outcomes(
    State(state): State<HttpState>,
    Extension(actor): Extension<Actor>,
) -> Response {
    let nav = Nav::new(&state, Section::Outcomes);
    let input = RawInput::Object(Map::new());
    match state
        .core
        .commands()
        .invoke(&Caller::dashboard(actor), OUTCOMES, &input)
        .await
    {
        Ok(totals) => OutcomesPage::response(nav, &totals.json),
        Err(failure) if failure.code == ErrorCode::Unauthorized => {
            respond::plain(StatusCode::FORBIDDEN, "Forbidden\n")
        }
        Err(_) => respond::plain(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE),
    }
}
