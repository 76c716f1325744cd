//! `GET /residents?stream=1`: the residents' version, and each later version. It has no end.

use ars_auth::Viewer;
use ars_bot_core::queries::FleetChanges;
use ars_events::sse::frames;
use axum::response::Response;
use futures::{Stream, stream};
use serde_json::json;

use crate::{
    server::{Closing, StreamPermit, sse},
    state::HttpState,
};

/// Answers with the stream.
pub(super) fn feed(
    state: &HttpState,
    viewer: Viewer,
    closing: Option<Closing>,
    permit: StreamPermit,
) -> Response {
    sse::response(
        frames_of(state.core.queries().fleet_changes(viewer), permit),
        closing,
    )
}

fn frames_of(changes: FleetChanges, permit: StreamPermit) -> impl Stream<Item = String> {
    stream::unfold((changes, permit), |(mut changes, permit)| async move {
        let version = changes.next().await?;
        Some((
            frames::data(&json!({ "version": version }).to_string()),
            (changes, permit),
        ))
    })
}
