//! Live run slots, and the queue of runs waiting for a slot (docs/reference/ingress.md#queue).
//!
//! A free slot goes to the waiting caller with the fewest live runs, and between two such callers
//! to the older request. So a caller with many requests delays its own and no other's.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_bot_ports::{Overload, metrics};
use ars_types::UnixMillis;
use tokio::sync::watch;

use crate::{limits::load_limits::LoadLimits, registry::QueuePlace};

/// A process's slots. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Slots {
    inner: Arc<Inner>,
}

struct Inner {
    limits: LoadLimits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Live runs by caller. Absent callers have none.
    live: HashMap<String, u32>,
    /// Ordered by request time.
    waiting: Vec<Waiter>,
    next_ticket: u64,
}

struct Waiter {
    since: UnixMillis,
    ticket: u64,
    caller: String,
    progress: watch::Sender<Progress>,
}

/// How far a waiting run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The run still waits.
    Waits(QueuePlace),
    /// It has a slot.
    Granted,
}

/// A live run's slot, until it is dropped.
pub(crate) struct Slot {
    slots: Slots,
    caller: String,
}

/// A run's queue place, until it is dropped.
pub(crate) struct Place {
    slots: Slots,
    ticket: u64,
    caller: String,
    progress: watch::Receiver<Progress>,
    is_taken: bool,
}

/// An admitted run's slot.
pub(crate) enum RunSlot {
    /// It has a slot.
    Free(Slot),
    /// The run waits for a slot.
    Awaited(Place),
}

impl Slots {
    pub(crate) fn new(limits: LoadLimits) -> Self {
        Self {
            inner: Arc::new(Inner {
                limits,
                state: Mutex::default(),
            }),
        }
    }

    /// Takes a free slot.
    ///
    /// # Errors
    /// The limit that leaves no slot free.
    pub(crate) fn take(&self, caller: &str) -> Result<Slot, Overload> {
        let mut state = self.lock();
        state.check(caller, &self.inner.limits)?;
        state.begin(caller);
        Ok(Slot {
            slots: self.clone(),
            caller: caller.to_owned(),
        })
    }

    /// Takes a free slot, or a place in the queue.
    ///
    /// # Errors
    /// The queue limit.
    pub(crate) fn take_or_wait(
        &self,
        caller: &str,
        since: UnixMillis,
    ) -> Result<RunSlot, Overload> {
        // A single lock for the check and the change: concurrent requests must not pass a limit
        // together.
        let mut state = self.lock();
        if state.check(caller, &self.inner.limits).is_ok() {
            state.begin(caller);
            return Ok(RunSlot::Free(Slot {
                slots: self.clone(),
                caller: caller.to_owned(),
            }));
        }
        state.check_queue(caller, &self.inner.limits)?;
        Ok(RunSlot::Awaited(self.place(&mut state, caller, since)))
    }

    /// Takes a place in the queue, at any length: for a run that waited in another process.
    pub(crate) fn wait(&self, caller: &str, since: UnixMillis) -> Place {
        self.place(&mut self.lock(), caller, since)
    }

    fn place(&self, state: &mut State, caller: &str, since: UnixMillis) -> Place {
        let (ticket, progress) = state.enqueue(caller, since);
        state.fill(&self.inner.limits);
        Place {
            slots: self.clone(),
            ticket,
            caller: caller.to_owned(),
            progress,
            is_taken: false,
        }
    }

    /// Takes a slot beyond the limits: for a run that was live in another process.
    pub(crate) fn take_beyond(&self, caller: &str) -> Slot {
        self.lock().begin(caller);
        Slot {
            slots: self.clone(),
            caller: caller.to_owned(),
        }
    }

    fn release(&self, caller: &str) {
        let mut state = self.lock();
        state.end(caller);
        state.fill(&self.inner.limits);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn live_runs_of(&self, caller: &str) -> u32 {
        self.live.get(caller).copied().unwrap_or(0)
    }

    fn begin(&mut self, caller: &str) {
        *self.live.entry(caller.to_owned()).or_default() += 1;
    }

    fn end(&mut self, caller: &str) {
        if let Some(count) = self.live.get_mut(caller) {
            *count -= 1;
            if *count == 0 {
                self.live.remove(caller);
            }
        }
    }

    /// Checks whether the caller may begin another run.
    fn check(&self, caller: &str, limits: &LoadLimits) -> Result<(), Overload> {
        let (own, all) = (self.live_runs_of(caller), self.live.values().sum::<u32>());
        if let Some(limit) = limits.runs_per_caller.filter(|limit| own >= *limit) {
            return Err(Overload::OwnRuns { limit });
        }
        match limits.runs.filter(|limit| all >= *limit) {
            Some(limit) => Err(Overload::Runs { limit }),
            None => Ok(()),
        }
    }

    /// Checks whether another of the caller's runs may wait.
    fn check_queue(&self, caller: &str, limits: &LoadLimits) -> Result<(), Overload> {
        let own = self
            .waiting
            .iter()
            .filter(|waiter| waiter.caller == caller)
            .count();
        if let Some(limit) = exceeded(own, limits.queued_runs_per_caller) {
            return Err(Overload::OwnQueue { limit });
        }
        match exceeded(self.waiting.len(), limits.queued_runs) {
            Some(limit) => Err(Overload::Queue { limit }),
            None => Ok(()),
        }
    }

    /// Adds a waiter by request time. Returns the ticket and progress.
    fn enqueue(&mut self, caller: &str, since: UnixMillis) -> (u64, watch::Receiver<Progress>) {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let (sender, progress) = watch::channel(Progress::Waits(QueuePlace {
            position: 0,
            limit: None,
        }));
        let waiter = Waiter {
            since,
            ticket,
            caller: caller.to_owned(),
            progress: sender,
        };
        let index = self
            .waiting
            .partition_point(|other| (other.since, other.ticket) < (since, ticket));
        self.waiting.insert(index, waiter);
        (ticket, progress)
    }

    /// Grants the free slots, and numbers the runs that wait on.
    fn fill(&mut self, limits: &LoadLimits) {
        while let Some(index) = self.next(&self.live, |index| {
            self.check(&self.waiting[index].caller, limits).is_ok()
        }) {
            let waiter = self.waiting.remove(index);
            self.begin(&waiter.caller);
            waiter.progress.send_replace(Progress::Granted);
        }
        metrics::queued_runs(self.waiting.len());
        self.number(limits);
    }

    /// Returns the next eligible waiter if the callers have these live runs.
    fn next(
        &self,
        live: &HashMap<String, u32>,
        is_eligible: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let eligible = (0..self.waiting.len()).filter(|index| is_eligible(*index));
        eligible.min_by_key(|index| {
            (
                live.get(&self.waiting[*index].caller).copied().unwrap_or(0),
                *index,
            )
        })
    }

    /// Gives each waiting run a position: the order in which they would start if no live run ended.
    fn number(&self, limits: &LoadLimits) {
        let mut live = self.live.clone();
        let mut is_numbered = vec![false; self.waiting.len()];
        for position in 1.. {
            let Some(next) = self.next(&live, |index| !is_numbered[index]) else {
                return;
            };
            is_numbered[next] = true;
            let waiter = &self.waiting[next];
            *live.entry(waiter.caller.clone()).or_default() += 1;
            let limit = self.check(&waiter.caller, limits).err();
            let progress = Progress::Waits(QueuePlace { position, limit });
            waiter
                .progress
                .send_if_modified(|known| std::mem::replace(known, progress) != progress);
        }
    }
}

fn exceeded(count: usize, limit: Option<u32>) -> Option<u32> {
    limit.filter(|limit| u32::try_from(count).unwrap_or(u32::MAX) >= *limit)
}

impl Place {
    /// Returns how far the run is.
    pub(crate) fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    /// Returns the granted slot, or `None` once the position has changed.
    pub(crate) async fn next(&mut self) -> Option<Slot> {
        if let Some(slot) = self.slot() {
            return Some(slot);
        }
        // The sender is in the queue until it sent the grant, which is the last change.
        if self.progress.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.slot()
    }

    /// Returns the granted slot, or `None` while the run waits.
    pub(crate) fn slot(&mut self) -> Option<Slot> {
        let is_granted = !self.is_taken && self.progress() == Progress::Granted;
        is_granted.then(|| {
            self.is_taken = true;
            Slot {
                slots: self.slots.clone(),
                caller: self.caller.clone(),
            }
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.release(&self.caller);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Dropped behind the lock: a slot's drop takes it.
        let unused = {
            let mut state = self.slots.lock();
            state.waiting.retain(|waiter| waiter.ticket != self.ticket);
            metrics::queued_runs(state.waiting.len());
            state.number(&self.slots.inner.limits);
            drop(state);
            self.slot()
        };
        drop(unused);
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
