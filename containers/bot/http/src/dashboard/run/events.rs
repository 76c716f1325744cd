//! `GET /runs/<id>/events`: the live stream with the run's token, the stored stream without.

use ars_auth::Viewer;
use ars_bot_core::{
    queries::{EventStream, RemoteEvents},
    registry::{Frame, Subscription},
};
use ars_bot_ports::metrics;
use ars_events::sse::frames;
use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use futures::{Stream, stream};

use super::{
    replay,
    run_ref::{RunRef, reject},
};
use crate::{
    server::{Closing, StreamPermit, Streams, sse},
    state::HttpState,
};

/// Answers with the stream, resumed after `Last-Event-ID`. A page that embeds events names the last
/// event in the query `after`: the first request cannot set the header.
pub(crate) async fn events(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    closing: Option<Extension<Closing>>,
    streams: Streams,
    headers: HeaderMap,
    uri: Uri,
    run: RunRef,
) -> Response {
    let after = sse::resume_after(&headers, &uri);
    let closing = closing.map(|Extension(closing)| closing);
    let found = state
        .core
        .queries()
        .events(&run.reader(&viewer, "runs.events"), &run.id, after)
        .await;
    match found {
        Ok(EventStream::Live(subscription)) => {
            streams.open(|permit| sse::response(live(subscription, permit), closing))
        }
        Ok(EventStream::Remote(events)) => {
            streams.open(|permit| sse::response(remote(events, permit), closing))
        }
        Ok(EventStream::Stored(view)) => {
            sse::response(stream::iter(replay::frames(&view, after)), closing)
        }
        Err(error) => reject(error),
    }
}

/// Streams another process's run, with a delay due to flushes.
fn remote(events: RemoteEvents, permit: StreamPermit) -> impl Stream<Item = String> {
    let watching = (events, (metrics::viewer(), permit));
    stream::unfold(watching, |(mut events, viewer)| async move {
        let text = events.next().await?.iter().map(framed).collect();
        Some((text, (events, viewer)))
    })
}

/// Streams this process's run. The subscription holds a position and no queue, so a slow viewer
/// costs no memory.
fn live(subscription: Subscription, permit: StreamPermit) -> impl Stream<Item = String> {
    let watching = (subscription, (metrics::viewer(), permit));
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
        Frame::End {
            sealed_at,
            reply_ok,
        } => frames::end_live(*sealed_at, *reply_ok),
    }
}
