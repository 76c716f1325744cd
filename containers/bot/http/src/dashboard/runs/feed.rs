//! `GET /runs?stream=1`: the run list as it changes. It starts with the whole list, newest first,
//! and has no end.

use ars_auth::Viewer;
use ars_bot_core::queries::{Change, Changes, RunFilter};
use ars_events::sse::frames;
use axum::response::Response;
use futures::{Stream, stream};
use serde_json::json;

use super::page::Row;
use crate::{
    server::{Closing, StreamPermit, sse},
    state::HttpState,
};

/// Answers with the stream.
pub(super) fn feed(
    state: &HttpState,
    viewer: Viewer,
    filter: RunFilter,
    closing: Option<Closing>,
    permit: StreamPermit,
) -> Response {
    sse::response(
        frames_of(state.core.queries().changes(viewer, filter), permit),
        closing,
    )
}

fn frames_of(changes: Changes, permit: StreamPermit) -> impl Stream<Item = String> {
    stream::unfold((changes, permit), |(mut changes, permit)| async move {
        let text = changes.next().await?.into_iter().map(frame).collect();
        Some((text, (changes, permit)))
    })
}

fn frame(change: Change) -> String {
    let data = match change {
        Change::Upsert(run) => json!({"type": "upsert", "run": Row::new(*run)}),
        Change::Removed(id) => json!({"type": "removed", "id": id}),
    };
    frames::data(&data.to_string())
}
