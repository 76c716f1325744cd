//! A run's events: followed while it is live, replayed once it has finished.

use std::{sync::Arc, time::Duration};

use ars_types::RunId;

use super::{Queries, QueryError, Reader, RunView, reader::live_rows};
use crate::{
    context::RunContext,
    registry::{Frame, Subscription},
};

/// Interval at which another process's events are read, longer than the default flush interval.
const POLL_EVERY: Duration = Duration::from_secs(2);

/// The source of a run's events.
pub enum EventStream {
    /// A run in this process.
    Live(Subscription),
    /// A live run in another process.
    Remote(RemoteEvents),
    /// A finished, stored run.
    Stored(Box<RunView>),
}

/// Another process's live run events, as that process writes them to the ledger.
pub struct RemoteEvents {
    context: RunContext,
    id: RunId,
    after: u64,
    has_polled: bool,
}

impl Queries {
    /// Returns a run's events after a seq.
    ///
    /// # Errors
    ///
    /// As [`Queries::get`].
    pub async fn events(
        &self,
        reader: &Reader<'_>,
        id: &RunId,
        after: u64,
    ) -> Result<EventStream, QueryError> {
        if let Some(subscription) = self.context.registry().subscribe(id, reader.token, after) {
            return Ok(EventStream::Live(subscription));
        }
        if self.open_remote(reader, id).await.is_some() {
            let events = RemoteEvents {
                context: self.context.clone(),
                id: id.clone(),
                after,
                has_polled: false,
            };
            return Ok(EventStream::Remote(events));
        }
        self.finished(reader, id)
            .await
            .map(|view| EventStream::Stored(Box::new(view)))
    }
}

impl RemoteEvents {
    /// Returns the next frames, or `None` once the run has ended or this process owns it. A client
    /// that reconnects then reads the end or follows it here.
    pub async fn next(&mut self) -> Option<Vec<Frame>> {
        loop {
            if self.has_polled {
                tokio::time::sleep(POLL_EVERY).await;
            }
            self.has_polled = true;
            if self.context.registry().get(&self.id).is_some() {
                return None;
            }
            // Read before the events, so that the last events are not lost if the run ends now.
            let listing = live_rows(&self.context).await;
            let may_be_live = listing.is_unavailable || listing.find(&self.id).is_some();
            let frames = self.read().await;
            if !frames.is_empty() {
                return Some(frames);
            }
            if !may_be_live {
                return None;
            }
        }
    }

    /// Reads the new events. A store that does not know the position returns them all.
    async fn read(&mut self) -> Vec<Frame> {
        let Some(live) = self.context.live() else {
            return Vec::new();
        };
        let events = match live.ledger().live_events(&self.id, self.after).await {
            Ok(events) => events,
            Err(error) => {
                tracing::warn!(run = %self.id, error = %error, "events of another process's run not read");
                return Vec::new();
            }
        };
        let mut frames = Vec::new();
        for event in events {
            let Some(seq) = event.get("seq").and_then(serde_json::Value::as_u64) else {
                continue;
            };
            if seq <= self.after {
                continue;
            }
            if seq > self.after + 1 {
                frames.push(Frame::Elided {
                    from_seq: self.after + 1,
                    to_seq: seq - 1,
                });
            }
            self.after = seq;
            frames.push(Frame::Event {
                seq,
                json: Arc::from(event.to_string()),
            });
        }
        frames
    }
}
