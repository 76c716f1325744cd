//! `GET /runs/<id>/events`: the live stream with the run's token, the stored one without.

use ars_bot_core::registry::{Frame, Subscription};
use ars_bot_ports::metrics;
use ars_events::sse::frames;
use axum::{Extension, extract::State, http::HeaderMap, response::Response};
use futures::{Stream, stream};

use super::{lookup, replay, run_ref::RunRef};
use crate::{serve::Closing, sse, state::HttpState, viewer::Viewer};

/// The stream, resumed after `Last-Event-ID`.
pub(crate) async fn events(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    closing: Option<Extension<Closing>>,
    headers: HeaderMap,
    run: RunRef,
) -> Response {
    let after = sse::last_event_id(&headers);
    let closing = closing.map(|Extension(closing)| closing);
    if let Some(subscription) = state.core.registry().subscribe(&run.id, &run.token, after) {
        return sse::response(live(subscription), closing);
    }
    match lookup::finished(&state, &viewer, "runs.events", &run.id).await {
        Ok(view) => sse::response(stream::iter(replay::frames(&view.events, view.published, after)), closing),
        Err(hidden) => hidden.into_response(),
    }
}

/// The subscription holds a position, not a queue, so this stream holds nothing for a viewer who is slow.
fn live(subscription: Subscription) -> impl Stream<Item = String> {
    let watching = (subscription, metrics::viewer());
    stream::unfold(watching, |(mut subscription, viewer)| async move {
        let text = subscription.next().await?.iter().map(framed).collect();
        Some((text, (subscription, viewer)))
    })
}

fn framed(frame: &Frame) -> String {
    match frame {
        Frame::Elided { from_seq, to_seq } => frames::replay_elided(*from_seq, *to_seq),
        Frame::Event { seq, json } => frames::event(*seq, json),
        Frame::Finished { finished_at } => frames::finished(*finished_at),
        Frame::End { sealed_at, reply_ok } => frames::end_live(*sealed_at, *reply_ok),
    }
}
