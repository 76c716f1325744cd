//! The response: server-sent events, read until the message is complete.

use std::time::Duration;

use ars_agent::ModelTurn;
use ars_bot_ports::{ModelDelta, ModelError};
use bytes::Bytes;
use eventsource_stream::{EventStreamError, Eventsource as _};
use futures::{Stream, StreamExt as _, future};
use reqwest::Response;

use super::{
    super::failure::{protocol, unreachable},
    assemble::{Assembly, StreamStep},
};

/// Maximum response size in bytes, far above 128,000 tokens. It bounds the memory a broken server
/// uses.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Timeout for the body's end after the complete message; reading it keeps the connection reusable.
const TAIL_WAIT: Duration = Duration::from_millis(50);
/// Error response bytes after which reading ends.
const ERROR_BYTES: usize = 64 * 1024;

enum ReadError {
    Broken(reqwest::Error),
    TooLong,
}

/// Reads the stream up to `message_stop`. A stream that ends earlier is a failed call.
pub(super) async fn read(
    response: Response,
    host: &str,
    deltas: &(dyn Fn(ModelDelta) + Send + Sync),
) -> Result<ModelTurn, ModelError> {
    let mut events = std::pin::pin!(bounded(response).eventsource());
    let mut assembly = Assembly::default();
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| match error {
            EventStreamError::Transport(ReadError::Broken(error)) => unreachable(&error, host),
            EventStreamError::Transport(ReadError::TooLong) => protocol("the answer is too long"),
            EventStreamError::Utf8(_) | EventStreamError::Parser(_) => {
                protocol("the answer is not a stream of events")
            }
        })?;
        let data =
            serde_json::from_str(&event.data).map_err(|_| protocol("an event is not JSON"))?;
        match assembly.take(data)? {
            StreamStep::Quiet => {}
            StreamStep::Usage(usage) => deltas(ModelDelta::Usage(usage)),
            StreamStep::Text(text) => deltas(ModelDelta::Text(text)),
            StreamStep::Done(turn) => {
                let _ = tokio::time::timeout(TAIL_WAIT, events.next()).await;
                return Ok(turn);
            }
        }
    }
    Err(protocol("the stream ended before the message did"))
}

/// Returns the readable part of an error response's body.
pub(super) async fn error_text(response: Response) -> String {
    let mut text = Vec::new();
    let mut bytes = response.bytes_stream();
    while let Some(Ok(chunk)) = bytes.next().await {
        text.extend_from_slice(&chunk);
        if text.len() > ERROR_BYTES {
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn bounded(response: Response) -> impl Stream<Item = Result<Bytes, ReadError>> {
    response.bytes_stream().scan(0, |read, chunk| {
        let chunk = chunk.map_err(ReadError::Broken).and_then(|chunk| {
            *read += chunk.len();
            if *read > ANSWER_BYTES {
                Err(ReadError::TooLong)
            } else {
                Ok(chunk)
            }
        });
        future::ready(Some(chunk))
    })
}
