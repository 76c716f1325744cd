//! A streamed body that follows the reply's pace and detects a client's disconnect.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use tokio::sync::watch;

use super::reply::{OnSent, Pace};

/// Counts a client that disconnected before the response was complete.
pub(super) struct Departure {
    left: Arc<watch::Sender<usize>>,
    served: bool,
    sent: Option<OnSent>,
}

impl Departure {
    pub(super) fn watch(left: &Arc<watch::Sender<usize>>) -> Self {
        Self {
            left: left.clone(),
            served: false,
            sent: None,
        }
    }

    /// Sets the callback for the time when all events are sent.
    pub(super) fn on_sent(&mut self, sent: Option<OnSent>) {
        self.sent = sent;
    }

    pub(super) fn served(&mut self) {
        self.served = true;
        if let Some(OnSent(then)) = self.sent.take() {
            then();
        }
    }
}

impl Drop for Departure {
    fn drop(&mut self) {
        if !self.served {
            self.left.send_modify(|count| *count += 1);
        }
    }
}

/// Keeps the connection open until the client disconnects.
pub(super) async fn hold(_departure: Departure) -> Infallible {
    std::future::pending().await
}

struct Sending {
    events: std::vec::IntoIter<String>,
    pause: Option<Duration>,
    after: After,
    departure: Departure,
}

enum After {
    End,
    Cut,
    Hang,
}

/// Returns a streamed response's body. `failure` renders the vendor's error event.
pub(super) fn streamed(
    mut events: Vec<String>,
    pace: Pace,
    failure: impl Fn(&str, &str) -> String,
    departure: Departure,
) -> Body {
    let (pause, after) = match pace {
        Pace::AtOnce => (None, After::End),
        Pace::Every(pause) => (Some(pause), After::End),
        Pace::EndAfter(count) => {
            events.truncate(count);
            (None, After::End)
        }
        Pace::CutAfter(count) => {
            events.truncate(count);
            (None, After::Cut)
        }
        Pace::HangAfter(count) => {
            events.truncate(count);
            (None, After::Hang)
        }
        Pace::FailAfter {
            events: count,
            kind,
            message,
        } => {
            events.truncate(count);
            events.push(failure(&kind, &message));
            (None, After::End)
        }
        Pace::Silent => {
            events.clear();
            (None, After::Hang)
        }
    };
    let sending = Sending {
        events: events.into_iter(),
        pause,
        after,
        departure,
    };
    Body::from_stream(stream::unfold(sending, next))
}

async fn next(mut sending: Sending) -> Option<(Result<Bytes, io::Error>, Sending)> {
    if let Some(pause) = sending.pause {
        tokio::time::sleep(pause).await;
    }
    if let Some(event) = sending.events.next() {
        // A client with the last event has the whole answer and may disconnect before the end is polled.
        if sending.events.len() == 0 && matches!(sending.after, After::End) {
            sending.departure.served();
        }
        return Some((Ok(Bytes::from(event)), sending));
    }
    match sending.after {
        After::End => {
            sending.departure.served();
            None
        }
        After::Cut => {
            sending.departure.served();
            Some((Err(io::Error::other("scripted cut")), sending))
        }
        After::Hang => match hold(sending.departure).await {},
    }
}
