//! The flush: one request for all runs of the process (document 2 section 8, docs/decisions/0007).
//!
//! It carries the events that the ledger does not have, extends the leases, and brings back how runs are asked to stop
//! and what was left in their inboxes. A run's position is all that is kept of it: after a failure the same events go
//! with the next flush, from the run's own backlog. Not here: steps and states, which their runs wait for.

use std::{sync::Arc, time::Duration};

use ars_bot_ports::{
    News, Owned, StoreError, StoreErrorKind, Told,
    metrics::{self, Outcome},
};
use ars_runs::budget;
use ars_wire::ledger::{Followup, MAX_FLUSHED_RUNS};
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Inner, LEASE, Live, slot::Slot};
use crate::{
    registry::Kept,
    threads::{FollowUp, Note},
};

/// A flush begins at the latest this long after an event (document 2 section 8, "event flush").
const EVERY: Duration = Duration::from_millis(500);
/// So many events of a run begin one early (the same).
pub(super) const BATCH_EVENTS: u64 = 32;
/// Between the end of a flush and an early one. Of 200 runs there is nearly always one that has its events together:
/// without a gap each would have a request to itself (docs/decisions/0007).
const GAP: Duration = Duration::from_millis(250);
/// How often each lease is extended (document 2 section 8, "heartbeat").
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Most bytes of events in one request: the route's 2 MiB less what stands around them.
const MAX_BYTES: usize = (2 << 20) - (64 << 10);

impl Live {
    /// Flushes until `end` fires.
    pub async fn run(&self, end: CancellationToken) {
        let mut beat_at = Instant::now();
        while end.run_until_cancelled(self.flush_is_due()).await.is_some() {
            self.flush(&mut beat_at).await;
            // Who nudges meanwhile is heard behind it, all at once.
            if end.run_until_cancelled(tokio::time::sleep(GAP)).await.is_none() {
                return;
            }
        }
    }

    /// Waits, a gap after the last flush, until the next begins.
    async fn flush_is_due(&self) {
        let is_idle = self.slots().is_empty();
        tokio::select! {
            () = self.inner.nudge.notified() => {}
            () = tokio::time::sleep(EVERY - GAP), if !is_idle => {}
        }
    }

    /// One flush of everything there is, with a heartbeat when one is due.
    async fn flush(&self, beat_at: &mut Instant) {
        let now = Instant::now();
        let beats = now >= *beat_at;
        let slots: Vec<_> = self.slots().values().cloned().collect();
        // A failed part is logged where it failed; its run's position has not moved, so the next flush repeats it.
        if self.send_all(&slots, beats, beats).await.is_ok() && beats {
            *beat_at = now + HEARTBEAT;
        }
    }

    /// Flushes one run and hears what is new, before something that rests on it. An error is transient: what the store
    /// refuses for good is given up and logged.
    pub(super) async fn flush_run(&self, slot: &Arc<Slot>) -> Result<(), StoreError> {
        self.send_all(std::slice::from_ref(slot), true, false).await
    }

    /// Sends everything there is of these runs; with `asks`, also of those that have nothing to say. The first failure
    /// is told, and holds up no other run.
    async fn send_all(&self, slots: &[Arc<Slot>], asks: bool, beats: bool) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        for mut batch in batches(slots, asks) {
            batch.retain(Part::follows_on);
            if !batch.is_empty() {
                outcome = outcome.and(self.inner.send_or_split(&batch, beats).await);
            }
        }
        outcome
    }
}

/// What one request carries of one run.
struct Part {
    slot: Arc<Slot>,
    /// What the ledger has to have before these events: they are of use only behind it.
    after: u64,
    events: Vec<Kept>,
}

/// Requests that hold everything, in order within each run. A run without news is left out unless it `asks` for some.
fn batches(slots: &[Arc<Slot>], asks: bool) -> Vec<Vec<Part>> {
    let mut batches = Vec::new();
    let (mut open, mut bytes) = (Vec::new(), 0);
    for slot in slots {
        let (mut after, unflushed) = slot.unflushed();
        let mut events: Vec<Kept> = Vec::new();
        for event in unflushed {
            if bytes + event.json.len() > MAX_BYTES {
                let last = events.last().map_or(after, |event| event.seq);
                open.push(Part { slot: Arc::clone(slot), after, events: std::mem::take(&mut events) });
                batches.push(std::mem::take(&mut open));
                (after, bytes) = (last, 0);
            }
            bytes += event.json.len() + 1;
            events.push(event);
        }
        if asks || !events.is_empty() {
            open.push(Part { slot: Arc::clone(slot), after, events });
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
    /// Sends a batch; an error when something of it is to be sent again. One whose content is refused is sent run by
    /// run, so that what the ledger will not have of one run holds up none of the others.
    async fn send_or_split(&self, batch: &[Part], beats: bool) -> Result<(), StoreError> {
        let sent = self.send(batch, beats).await;
        match sent {
            Err(error) if refuses_content(&error) && batch.len() > 1 => {
                let mut outcome = Ok(());
                for part in batch {
                    let sent = self.send(std::slice::from_ref(part), beats).await;
                    outcome = outcome.and(part.give_up_if_refused(sent));
                }
                outcome
            }
            sent => batch.iter().fold(sent, |sent, part| part.give_up_if_refused(sent)),
        }
    }

    /// Sends one request and takes in what it brings back.
    async fn send(&self, batch: &[Part], beats: bool) -> Result<(), StoreError> {
        let runs: Vec<_> = batch.iter().map(Part::news).collect();
        let lease = beats.then_some(LEASE);
        let flushed = self.ledger.flush(&self.generation, lease, &runs).await;
        metrics::ledger_flush(Outcome::of(&flushed), events_in(batch));
        let answers = flushed.inspect_err(|error| {
            tracing::warn!(runs = batch.len(), events = events_in(batch), error = %error, "not flushed");
        })?;
        batch.iter().zip(answers).for_each(|(part, answer)| part.take_in(answer));
        Ok(())
    }
}

impl Part {
    fn news(&self) -> News {
        // What the registry kept is JSON; were a piece of it not, the ledger would only lack that piece.
        let events = self.events.iter().filter_map(|Kept { json, .. }| {
            let json = budget::shortened(json).unwrap_or_else(|| json.to_string());
            RawValue::from_string(json).ok()
        });
        News {
            run: self.slot.run().clone(),
            events: events.collect(),
            inbox_after: self.slot.mailbox.last_inbox_seq(),
        }
    }

    /// Whether the ledger has what stands before: not after an earlier part failed.
    fn follows_on(&self) -> bool {
        self.slot.flushed() >= self.after
    }

    /// Events that the ledger will never have are not sent again; the run's record has them all the same. A ledger that
    /// does not know this process, or lacks the route, may be mended: everything is kept for it.
    fn give_up_if_refused(&self, sent: Result<(), StoreError>) -> Result<(), StoreError> {
        let error = match sent {
            Err(error) if refuses_content(&error) => error,
            sent => return sent,
        };
        tracing::error!(run = %self.slot.run(), events = self.events.len(), error = %error, "events refused by the ledger");
        self.took_in();
        Ok(())
    }

    fn took_in(&self) {
        if let Some(last) = self.events.last() {
            self.slot.flushed_to(self.after, last.seq);
        }
    }

    fn take_in(&self, answer: Owned<Told>) {
        let Owned::Done(Told { stop, inbox }) = answer else {
            self.slot.lose();
            return;
        };
        self.slot.confirm();
        self.took_in();
        if let Some(mode) = stop {
            self.slot.stop(mode);
        }
        for Followup { seq, message } in inbox {
            let Some(note) = Note::read(message) else {
                tracing::warn!(run = %self.slot.run(), seq, "a follow-up that cannot be read");
                self.slot.mailbox.skip(seq);
                continue;
            };
            // A closed mailbox: the run is over, and whoever ended it hands back what nobody read.
            let follow_up = FollowUp { note, inbox_seq: Some(seq), sender: None };
            let _ = self.slot.mailbox.put(follow_up);
        }
    }
}

/// Whether no attempt with the same content can succeed.
fn refuses_content(error: &StoreError) -> bool {
    error.kind == StoreErrorKind::Refused
}

fn events_in(batch: &[Part]) -> usize {
    batch.iter().map(|part| part.events.len()).sum()
}
