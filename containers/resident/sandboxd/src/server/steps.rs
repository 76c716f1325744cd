//! Steps: a line for each event, and the end.

use std::{convert::Infallible, sync::Arc, time::Duration};

use ars_resident::daemon::{HEARTBEAT_INTERVAL_MS, StepEnd, StepEvent, StepRequest};
use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use futures::{Stream, StreamExt as _, stream};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::router::{Service, parse};
use crate::{daemon::Daemon, step::Progress};

/// Performs a step. It ends with the connection.
pub(super) async fn steps(State(service): State<Service>, body: Bytes) -> Response {
    let request = match parse::<StepRequest>(&body) {
        Ok(request) => request,
        Err(rejected) => return rejected.into_response(),
    };
    let lines = events(service.daemon, request).map(|event| {
        let mut line = serde_json::to_vec(&event).unwrap_or_default();
        line.push(b'\n');
        Ok::<_, Infallible>(Bytes::from(line))
    });
    (
        [(header::CONTENT_TYPE, "application/x-ndjson")],
        Body::from_stream(lines),
    )
        .into_response()
}

/// A step's end on its way. The step is cancelled when this is dropped.
struct Waiting {
    end: oneshot::Receiver<StepEnd>,
    progress: Progress,
    sent: u64,
    _guard: DropGuard,
}

fn events(daemon: Arc<Daemon>, request: StepRequest) -> impl Stream<Item = StepEvent> {
    let cancel = CancellationToken::new();
    let progress = Progress::default();
    let (sender, end) = oneshot::channel();
    let (token, counted) = (cancel.clone(), progress.clone());
    // A separate task, so that the step ends in order when the stream is dropped.
    tokio::spawn(async move {
        let end = daemon.perform(&request, &counted, &token).await;
        // Without a receiver no response is needed.
        let _ = sender.send(end);
    });
    let waiting = Waiting {
        end,
        progress,
        sent: 0,
        _guard: cancel.drop_guard(),
    };
    stream::unfold(Some(waiting), async |waiting| {
        let mut waiting = waiting?;
        let interval = Duration::from_millis(HEARTBEAT_INTERVAL_MS.unsigned_abs());
        match tokio::time::timeout(interval, &mut waiting.end).await {
            Ok(Ok(end)) => Some((StepEvent::Ended(end), None)),
            // The task broke off; the missing end is reported by the cut stream.
            Ok(Err(_)) => None,
            Err(_) => {
                let bytes = waiting.progress.bytes();
                let event = match bytes == waiting.sent {
                    true => StepEvent::Heartbeat,
                    false => StepEvent::Progress { bytes },
                };
                waiting.sent = bytes;
                Some((event, Some(waiting)))
            }
        }
    })
}
