//! An event stream as an HTTP response: head, keepalives, and an end when the server shuts down.
//!
//! The connection pulls the stream. A slow viewer therefore delays no other viewer, and a viewer
//! that disconnects drops everything that the stream holds. Not here: the frames
//! (`ars_events::sse::frames`).

use std::{convert::Infallible, pin::Pin};

use ars_events::sse::frames;
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::Response,
};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use tokio::time::{Instant, Interval, interval_at};
use tokio_util::sync::CancellationToken;

use super::Closing;
use crate::{params, respond};

/// A stream that is open.
struct Opened<S> {
    frames: Pin<Box<S>>,
    keepalive: Interval,
    closing: CancellationToken,
}

/// Answers with these frames. Each item may contain several.
pub(crate) fn response<S>(frames: S, closing: Option<Closing>) -> Response
where
    S: Stream<Item = String> + Send + 'static,
{
    let every = frames::KEEPALIVE_EVERY;
    let opened = Opened {
        frames: Box::pin(frames),
        keepalive: interval_at(Instant::now() + every, every),
        closing: closing.map(|closing| closing.0).unwrap_or_default(),
    };
    let preamble = stream::once(async { Bytes::from_static(frames::PREAMBLE.as_bytes()) });
    let body = preamble
        .chain(stream::unfold(opened, next))
        .map(Ok::<_, Infallible>);
    let mut response = respond::with_type(
        StatusCode::OK,
        "text/event-stream; charset=utf-8",
        Body::from_stream(body),
    );
    let headers = response.headers_mut();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

async fn next<S: Stream<Item = String>>(mut opened: Opened<S>) -> Option<(Bytes, Opened<S>)> {
    let text = tokio::select! {
        // Ready frames are sent before the end.
        biased;
        frames = opened.frames.next() => frames?,
        _ = opened.keepalive.tick() => frames::KEEPALIVE.to_owned(),
        () = opened.closing.cancelled() => return None,
    };
    Some((Bytes::from(text), opened))
}

/// Returns the seq after which a client resumes; the header wins over the query `after`.
/// A page that embeds events starts with `after`, because a browser's first request has no header.
pub(crate) fn resume_after(headers: &HeaderMap, uri: &Uri) -> u64 {
    match headers.get("last-event-id") {
        Some(value) => value.to_str().map_or(0, frames::parse_last_event_id),
        None => params::query(uri, "after").map_or(0, |after| frames::parse_last_event_id(&after)),
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::server::{ConnectionLimits, serve::Server};

    #[tokio::test(start_paused = true)]
    async fn idle_stream_sends_keepalives_until_shutdown() {
        let closing = CancellationToken::new();
        let mut body = response(stream::pending(), Some(Closing(closing.clone()))).into_body();
        let mut text = String::new();
        for _ in 0..3 {
            let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
            text.push_str(std::str::from_utf8(&frame).unwrap());
        }
        assert_eq!(
            text,
            [frames::PREAMBLE, frames::KEEPALIVE, frames::KEEPALIVE].concat()
        );
        closing.cancel();
        assert!(body.frame().await.is_none());
    }

    #[tokio::test]
    async fn disconnect_drops_the_stream() {
        let (held, released) = tokio::sync::oneshot::channel::<()>();
        let held = std::sync::Mutex::new(Some(held));
        let open = move || {
            let held = held.lock().unwrap().take();
            let frames = stream::unfold(held, |held| async move {
                std::future::pending::<()>().await;
                Some((String::new(), held))
            });
            std::future::ready(response(frames, None))
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let open = std::sync::Arc::new(open);
        let router = axum::Router::new().route("/", axum::routing::get(move || open()));
        let server = tokio::spawn(crate::serve(
            listener,
            router,
            ConnectionLimits::default(),
            std::future::pending(),
        ));
        let mut viewer = reqwest::get(format!("http://{address}/")).await.unwrap();
        assert_eq!(viewer.chunk().await.unwrap().unwrap(), frames::PREAMBLE);
        drop(viewer);
        // The sender is dropped with the stream.
        let waited = tokio::time::timeout(std::time::Duration::from_secs(20), released).await;
        assert!(waited.unwrap().is_err());
        server.abort();
    }

    /// Streams without end, and drops the sender with the stream.
    fn endless(held: Option<tokio::sync::oneshot::Sender<()>>) -> Response {
        let frames = stream::unfold(held, |held| async move {
            tokio::task::yield_now().await;
            Some((frames::data(&"x".repeat(10_000)), held))
        });
        response(frames, None)
    }

    #[tokio::test]
    async fn stalled_viewer_alone_is_cut_off() {
        let (held, released) = tokio::sync::oneshot::channel::<()>();
        let held = std::sync::Arc::new(std::sync::Mutex::new(Some(held)));
        let open = move || std::future::ready(endless(held.lock().unwrap().take()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new().route("/", axum::routing::get(open));
        let deadline = std::time::Duration::from_millis(300);
        let serving = Server::new(router, ConnectionLimits::default(), deadline);
        let server = tokio::spawn(serving.serve(listener, std::future::pending()));
        let mut stalled = tokio::net::TcpStream::connect(address).await.unwrap();
        stalled
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        // The response has begun, so the next connection opens another stream.
        stalled.readable().await.unwrap();
        let mut viewer = reqwest::get(format!("http://{address}/")).await.unwrap();
        let watching = async { while viewer.chunk().await.unwrap().is_some() {} };
        // The sender is dropped with the stream while the other viewer keeps reading.
        let cut_off = tokio::time::timeout(std::time::Duration::from_secs(20), released);
        tokio::select! {
            () = watching => panic!("the one who reads was cut off too"),
            cut_off = cut_off => assert!(cut_off.unwrap().is_err()),
        }
        server.abort();
    }

    #[tokio::test]
    async fn a_stream_ends_with_its_frames() {
        let body = response(stream::iter(["a".to_owned(), "b".to_owned()]), None).into_body();
        let bytes = body.collect().await.unwrap().to_bytes();
        assert_eq!(bytes, format!("{}ab", frames::PREAMBLE));
    }
}
