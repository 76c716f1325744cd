//! `GET /schedules` and `GET /runs/scheduled`: the schedules, with the result from `schedule.list`.

use ars_auth::Actor;
use ars_bot_core::commands::Caller;
use ars_commands::RawInput;
use ars_wire::ErrorCode;
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde_json::Map;

use super::page::SchedulesPage;
use crate::{
    dashboard::shell::{Nav, SCHEDULE_LIST, Section},
    respond,
    state::HttpState,
};

const ABSENT: &str = "This service has no schedules: set STATE_WORKER_URL, or configure the weekly issues about friction.\n";

/// Answers with the page.
pub(crate) async fn schedules(
    State(state): State<HttpState>,
    Extension(actor): Extension<Actor>,
) -> Response {
    let nav = Nav::new(&state, Section::Schedules);
    if !nav.has_schedules() {
        return respond::plain(StatusCode::SERVICE_UNAVAILABLE, ABSENT);
    }
    let input = RawInput::Object(Map::new());
    match state
        .core
        .commands()
        .invoke(&Caller::dashboard(actor), SCHEDULE_LIST, &input)
        .await
    {
        Ok(listed) => SchedulesPage::response(nav, &listed.json, state.core.clock().now()),
        Err(failure) if failure.code == ErrorCode::Unauthorized => {
            respond::plain(StatusCode::FORBIDDEN, "Forbidden\n")
        }
        Err(_) => respond::plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "The schedules are not available right now. Try again later.\n",
        ),
    }
}
