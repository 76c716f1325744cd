//! `GET /runs/<id>/earlier?before=<seq>`: a page of events before a seq, for the page's script.

use ars_auth::Viewer;
use axum::{
    Extension,
    extract::State,
    http::{StatusCode, Uri},
    response::Response,
};

use super::{
    page::before,
    run_ref::{RunRef, reject},
    tail::Tail,
};
use crate::{respond, state::HttpState};

/// Answers with the newest events before the seq.
pub(crate) async fn earlier(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    uri: Uri,
    run: RunRef,
) -> Response {
    match state
        .core
        .queries()
        .get(&run.reader(&viewer, "runs.earlier"), &run.id)
        .await
    {
        Ok(found) => {
            let view = found.into_view();
            respond::json(
                StatusCode::OK,
                &Tail::before(&view.events, before(&uri)).json(),
            )
        }
        Err(error) => reject(error),
    }
}
