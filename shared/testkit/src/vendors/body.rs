//! A streamed body that keeps its reply's pace and notices when the client goes away.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use tokio::sync::watch;

use super::reply::{Pace, Sent};

/// Counts a client that left before its answer was complete.
pub(super) struct Departure {
    left: Arc<watch::Sender<usize>>,
    served: bool,
    sent: Option<Sent>,
}

impl Departure {
    pub(super) fn watch(left: &Arc<watch::Sender<usize>>) -> Self {
        Self { left: left.clone(), served: false, sent: None }
    }

    /// Who is told when all is on its way.
    pub(super) fn tell(&mut self, sent: Option<Sent>) {
        self.sent = sent;
    }

    pub(super) fn served(&mut self) {
        self.served = true;
        if let Some(Sent(then)) = self.sent.take() {
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

/// Holds the connection for as long as the client does.
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

/// The body of a streamed answer; `failure` renders the vendor's error event.
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
        Pace::FailAfter { events: count, kind, message } => {
            events.truncate(count);
            events.push(failure(&kind, &message));
            (None, After::End)
        }
        Pace::Silent => {
            events.clear();
            (None, After::Hang)
        }
    };
    let sending = Sending { events: events.into_iter(), pause, after, departure };
    Body::from_stream(stream::unfold(sending, next))
}

async fn next(mut sending: Sending) -> Option<(Result<Bytes, io::Error>, Sending)> {
    if let Some(pause) = sending.pause {
        tokio::time::sleep(pause).await;
    }
    if let Some(event) = sending.events.next() {
        // A client that has the last event has everything: it may hang up before the end is polled.
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
