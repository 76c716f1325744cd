//! The flush: a single request for all runs in the process (docs/decisions/0007).
//!
//! It carries the events that the ledger lacks, extends the leases, and returns stops and inbox
//! messages. The only state per run is a cursor into the run's own backlog, so the next flush
//! repeats a failed flush. Not here: steps and states, which are written at once because their runs
//! wait for them.

use std::{sync::Arc, time::Duration};

use ars_bot_ports::{
    FlushBatch, FlushResponse, Owned, StoreError, StoreErrorKind,
    metrics::{self, Outcome},
};
use ars_runs::budget;
use ars_wire::ledger::{Followup, MAX_FLUSHED_RUNS};
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Inner, LEASE, Live, cursor::FlushCursor};
use crate::{
    registry::Kept,
    threads::{FollowUp, Note},
};

/// Maximum delay for an event.
const INTERVAL: Duration = Duration::from_millis(500);
/// Minimum pause between two flushes. Among 200 runs, some run nearly always has a full batch, and
/// without a pause each batch would be a request (docs/decisions/0007).
const GAP: Duration = Duration::from_millis(250);
/// Interval at which leases are extended.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Maximum event bytes in a request: the route's 2 MiB less the bytes around them.
const MAX_BYTES: usize = (2 << 20) - (64 << 10);

/// What a flush asks the ledger for besides storing events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Nothing. Runs without new events are left out.
    Events,
    /// Every run's stops and inbox.
    Inboxes,
    /// The same, and the leases are extended.
    Heartbeat,
}

impl Mode {
    fn includes_idle_runs(self) -> bool {
        self != Self::Events
    }

    fn lease(self) -> Option<u32> {
        (self == Self::Heartbeat).then_some(LEASE)
    }
}

impl Live {
    /// Flushes until `end` fires.
    pub async fn run(&self, end: CancellationToken) {
        let mut beat_at = Instant::now();
        while end.run_until_cancelled(self.flush_is_due()).await.is_some() {
            self.flush(&mut beat_at).await;
            // Flush requests during the pause are merged into the next flush.
            if end
                .run_until_cancelled(tokio::time::sleep(GAP))
                .await
                .is_none()
            {
                return;
            }
        }
    }

    /// Waits, a pause after the last flush, until the next flush begins.
    async fn flush_is_due(&self) {
        let is_idle = self.cursors().is_empty();
        tokio::select! {
            () = self.inner.nudge.notified() => {}
            () = tokio::time::sleep(INTERVAL - GAP), if !is_idle => {}
        }
    }

    /// Flushes all runs, with a heartbeat when due.
    async fn flush(&self, beat_at: &mut Instant) {
        let now = Instant::now();
        let mode = if now >= *beat_at {
            Mode::Heartbeat
        } else {
            Mode::Events
        };
        let cursors: Vec<_> = self.cursors().values().cloned().collect();
        // A failed request is logged where it failed. The cursors have not moved, so the next flush
        // repeats it.
        if self.send_all(&cursors, mode).await.is_ok() && mode == Mode::Heartbeat {
            *beat_at = now + HEARTBEAT;
        }
    }

    /// Flushes a single run and reads the inbox.
    ///
    /// # Errors
    /// Transient failures only. Content that the store refuses permanently is dropped and logged.
    pub(super) async fn flush_run(&self, cursor: &Arc<FlushCursor>) -> Result<(), StoreError> {
        self.send_all(std::slice::from_ref(cursor), Mode::Inboxes)
            .await
    }

    /// Flushes these runs. Returns the first failure, which does not hold up the other runs.
    async fn send_all(&self, cursors: &[Arc<FlushCursor>], mode: Mode) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        for mut batch in batches(cursors, mode) {
            batch.retain(Part::is_contiguous);
            if !batch.is_empty() {
                outcome = outcome.and(self.inner.send_or_split(&batch, mode).await);
            }
        }
        outcome
    }
}

/// A single run's part in a request.
struct Part {
    cursor: Arc<FlushCursor>,
    /// The position that the ledger must have reached before these events.
    after: u64,
    events: Vec<Kept>,
}

/// Packs everything unflushed into requests, in order within each run.
fn batches(cursors: &[Arc<FlushCursor>], mode: Mode) -> Vec<Vec<Part>> {
    let mut batches = Vec::new();
    let (mut open, mut bytes) = (Vec::new(), 0);
    for cursor in cursors {
        let (mut after, unflushed) = cursor.unflushed();
        let mut events: Vec<Kept> = Vec::new();
        for event in unflushed {
            if bytes + event.json.len() > MAX_BYTES {
                let last = events.last().map_or(after, |event| event.seq);
                open.push(Part {
                    cursor: Arc::clone(cursor),
                    after,
                    events: std::mem::take(&mut events),
                });
                batches.push(std::mem::take(&mut open));
                (after, bytes) = (last, 0);
            }
            bytes += event.json.len() + 1;
            events.push(event);
        }
        if mode.includes_idle_runs() || !events.is_empty() {
            open.push(Part {
                cursor: Arc::clone(cursor),
                after,
                events,
            });
        }
        if open.len() == MAX_FLUSHED_RUNS {
            batches.push(std::mem::take(&mut open));
            bytes = 0;
        }
    }
    batches.push(open);
    batches.retain(|batch| !batch.is_empty());
    batches
}

impl Inner {
    /// Sends a batch. A batch with refused content is sent run by run, so that a refusal for one
    /// run's events does not hold up the others. Returns an error when a part has to be sent again.
    async fn send_or_split(&self, batch: &[Part], mode: Mode) -> Result<(), StoreError> {
        let sent = self.send(batch, mode).await;
        match sent {
            Err(error) if refuses_content(&error) && batch.len() > 1 => {
                let mut outcome = Ok(());
                for part in batch {
                    let sent = self.send(std::slice::from_ref(part), mode).await;
                    outcome = outcome.and(part.drop_if_refused(sent));
                }
                outcome
            }
            sent => batch
                .iter()
                .fold(sent, |sent, part| part.drop_if_refused(sent)),
        }
    }

    /// Sends a request and applies the responses.
    async fn send(&self, batch: &[Part], mode: Mode) -> Result<(), StoreError> {
        let runs: Vec<_> = batch.iter().map(Part::flush_batch).collect();
        let flushed = self
            .ledger
            .flush(&self.generation, mode.lease(), &runs)
            .await;
        metrics::ledger_flush(Outcome::from_result(&flushed), events_in(batch));
        let answers = flushed.inspect_err(|error| {
            tracing::warn!(runs = batch.len(), events = events_in(batch), error = %error, "flush failed");
        })?;
        batch
            .iter()
            .zip(answers)
            .for_each(|(part, answer)| part.apply(answer));
        Ok(())
    }
}

impl Part {
    fn flush_batch(&self) -> FlushBatch {
        // The registry keeps JSON. An event that were none would only be missing from the ledger.
        let events = self.events.iter().filter_map(|Kept { json, .. }| {
            let json = budget::shortened(json).unwrap_or_else(|| json.to_string());
            RawValue::from_string(json).ok()
        });
        FlushBatch {
            run: self.cursor.run().clone(),
            events: events.collect(),
            inbox_after: self.cursor.mailbox.last_inbox_seq(),
        }
    }

    /// Returns whether the ledger has the events before these; it lacks them when an earlier part failed.
    fn is_contiguous(&self) -> bool {
        self.cursor.flushed() >= self.after
    }

    /// Drops events that the ledger refuses permanently; the run's record has them.
    /// Events are kept for a ledger that does not know this process or lacks the route, because both can be repaired.
    fn drop_if_refused(&self, sent: Result<(), StoreError>) -> Result<(), StoreError> {
        let error = match sent {
            Err(error) if refuses_content(&error) => error,
            sent => return sent,
        };
        tracing::error!(run = %self.cursor.run(), events = self.events.len(), error = %error, "events refused by the ledger");
        self.advance();
        Ok(())
    }

    fn advance(&self) {
        if let Some(last) = self.events.last() {
            self.cursor.advance(self.after, last.seq);
        }
    }

    fn apply(&self, answer: Owned<FlushResponse>) {
        let Owned::Done(FlushResponse {
            stop,
            stop_actor,
            inbox,
        }) = answer
        else {
            self.cursor.fence_out();
            return;
        };
        self.cursor.confirm();
        self.advance();
        if let Some(mode) = stop {
            self.cursor.stop(mode, stop_actor);
        }
        for Followup { seq, message } in inbox {
            let Some(note) = Note::read(message) else {
                tracing::warn!(run = %self.cursor.run(), seq, "unreadable follow-up skipped");
                self.cursor.mailbox.skip(seq);
                continue;
            };
            // A closed mailbox refuses it: the run is over, and ending it settles unread
            // follow-ups.
            let follow_up = FollowUp {
                note,
                inbox_seq: Some(seq),
                sender: None,
            };
            let _ = self.cursor.mailbox.put(follow_up);
        }
    }
}

/// Returns whether every attempt with the same content would fail.
fn refuses_content(error: &StoreError) -> bool {
    error.kind == StoreErrorKind::Refused
}

fn events_in(batch: &[Part]) -> usize {
    batch.iter().map(|part| part.events.len()).sum()
}
