//! `GET /runs?stream=1`: the list of runs as it changes.
//! It starts with the whole list, newest first, and has no end.

use ars_auth::Viewer;
use ars_bot_core::queries::{Change, Changes, RunFilter};
use ars_events::sse::frames;
use axum::response::Response;
use futures::{Stream, stream};
use serde_json::json;

use super::pages::Row;
use crate::{
    server::{Closing, sse},
    state::HttpState,
};

/// Answers with the stream.
pub(super) fn feed(
    state: &HttpState,
    viewer: Viewer,
    filter: RunFilter,
    closing: Option<Closing>,
) -> Response {
    sse::response(frames_of(state.core.queries().changes(viewer, filter)), closing)
}

fn frames_of(changes: Changes) -> impl Stream<Item = String> {
    stream::unfold(changes, |mut changes| async move {
        let text = changes.next().await?.into_iter().map(frame).collect();
        Some((text, changes))
    })
}

fn frame(change: Change) -> String {
    let data = match change {
        Change::Upsert(run) => json!({"type": "upsert", "run": Row::new(*run)}),
        Change::Removed(id) => json!({"type": "removed", "id": id}),
    };
    frames::data(&data.to_string())
}
