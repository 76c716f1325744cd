//! `GET /runs/<id>/friction`: what slowed a run (document 1 section 4.4, document 2 section 2.6).

use ars_friction::{Interval, Options, analyze};
use ars_types::RunId;
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde::Serialize;
use serde_json::Value;

use super::{lookup, run_ref::RunRef};
use crate::{pages::RunView, respond, state::HttpState, viewer::Viewer};

#[derive(Serialize)]
struct Friction {
    id: RunId,
    finished: bool,
    diagnosis: Value,
}

/// The stored diagnosis, or one made now from the events so far.
pub(crate) async fn friction(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    run: RunRef,
) -> Response {
    let view = match state.core.registry().open(&run.id, &run.token) {
        Some(live) => RunView::of_live(&live),
        None => match lookup::finished(&state, &viewer, "runs.friction", &run.id).await {
            Ok(view) => view,
            Err(hidden) => return hidden.into_response(),
        },
    };
    let finished = view.finished.is_some();
    let diagnosis = view.diagnosis.unwrap_or_else(|| {
        let start = view.received_at.unwrap_or(view.started_at);
        let window = view.finished.map(|(end, _)| Interval { start, end });
        let options = Options { finished, window, ..Options::default() };
        serde_json::to_value(analyze(&view.events, &options)).unwrap_or_default()
    });
    respond::json(StatusCode::OK, &Friction { id: view.id, finished, diagnosis })
}
