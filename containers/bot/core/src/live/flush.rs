//! The flush: one request for all runs of the process (document 2 section 8, docs/decisions/0007).
//!
//! It carries the events that the ledger does not have, extends the leases, and brings back how runs are asked to stop
//! and what was left in their inboxes. A run's position is all that is kept of it: after a failure the same events go
//! with the next flush, from the run's own backlog. Not here: steps and states, which their runs wait for.

use std::{sync::Arc, time::Duration};

use ars_runs::budget;
use ars_types::UnixMillis;
use ars_wire::ledger::{Followup, MAX_FLUSHED_RUNS};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{Inner, LEASE, Live, is_transient, slot::Slot};
use crate::{
    metrics::{self, Outcome},
    ports::{Ledger as _, News, Owned, StoreError, Told},
    registry::Kept,
    threads::{FollowUp, Note},
};

/// A flush begins at the latest this long after an event (document 2 section 8, "event flush").
const EVERY: Duration = Duration::from_millis(500);
/// So many events of a run begin one at once (the same).
pub(super) const BATCH_EVENTS: u64 = 32;
/// How often each lease is extended (document 2 section 8, "heartbeat").
const HEARTBEAT_MS: i64 = 10_000;
/// Most bytes of events in one request: the route's 2 MiB less what stands around them.
const MAX_BYTES: usize = (2 << 20) - (64 << 10);

impl Live {
    /// Flushes until `end` fires.
    pub async fn run(&self, end: CancellationToken) {
        let mut beat_at = self.inner.clock.now();
        loop {
            let idle = self.slots().is_empty();
            tokio::select! {
                () = end.cancelled() => return,
                () = self.inner.nudge.notified() => {}
                () = tokio::time::sleep(EVERY), if !idle => {}
            }
            self.flush(&mut beat_at).await;
        }
    }

    /// One flush of everything there is, with a heartbeat when one is due.
    async fn flush(&self, beat_at: &mut UnixMillis) {
        let now = self.inner.clock.now();
        let beats = now >= *beat_at;
        let slots: Vec<_> = self.slots().values().cloned().collect();
        let mut is_complete = true;
        for batch in batches(&slots, beats) {
            is_complete &= self.inner.send_or_split(&batch, beats).await;
        }
        if beats && is_complete {
            *beat_at = now + HEARTBEAT_MS;
        }
    }

    /// Flushes one run and hears what is new, before it is given away or ends.
    pub(super) async fn flush_run(&self, slot: &Arc<Slot>) {
        for batch in batches(std::slice::from_ref(slot), true) {
            self.inner.send_or_split(&batch, false).await;
        }
    }
}

/// What one request carries of one run.
struct Part {
    slot: Arc<Slot>,
    events: Vec<Kept>,
}

/// Requests that hold everything, in order within each run. A run without news is left out of a flush that does not
/// beat.
fn batches(slots: &[Arc<Slot>], beats: bool) -> Vec<Vec<Part>> {
    let mut batches = Vec::new();
    let (mut open, mut bytes) = (Vec::new(), 0);
    for slot in slots {
        let mut events = Vec::new();
        for event in slot.unflushed() {
            if bytes + event.json.len() > MAX_BYTES {
                open.push(Part { slot: Arc::clone(slot), events: std::mem::take(&mut events) });
                batches.push(std::mem::take(&mut open));
                bytes = 0;
            }
            bytes += event.json.len() + 1;
            events.push(event);
        }
        if beats || !events.is_empty() {
            open.push(Part { slot: Arc::clone(slot), events });
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
    /// Sends a batch; false when there was no answer. One that is refused for good is sent run by run, so that what the
    /// ledger will not have of one run holds up none of the others.
    async fn send_or_split(&self, batch: &[Part], beats: bool) -> bool {
        match self.send(batch, beats).await {
            Ok(()) => true,
            Err(error) if is_transient(&error) => false,
            Err(_) if batch.len() > 1 => {
                let mut is_complete = true;
                for part in batch {
                    let sent = self.send(std::slice::from_ref(part), beats).await;
                    is_complete &= sent.as_ref().err().is_none_or(|error| !is_transient(error));
                    part.give_up_if_refused(&sent);
                }
                is_complete
            }
            refused => {
                batch.iter().for_each(|part| part.give_up_if_refused(&refused));
                true
            }
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

    /// Events that the ledger will never have are not sent again; the run's record has them all the same.
    fn give_up_if_refused(&self, sent: &Result<(), StoreError>) {
        if let (Err(error), Some(last)) = (sent, self.events.last())
            && !is_transient(error)
        {
            tracing::error!(run = %self.slot.run(), events = self.events.len(), "events refused by the ledger");
            self.slot.flushed_to(last.seq);
        }
    }

    fn take_in(&self, answer: Owned<Told>) {
        let Owned::Done(Told { stop, inbox }) = answer else {
            self.slot.lose();
            return;
        };
        if let Some(last) = self.events.last() {
            self.slot.flushed_to(last.seq);
        }
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

fn events_in(batch: &[Part]) -> usize {
    batch.iter().map(|part| part.events.len()).sum()
}
