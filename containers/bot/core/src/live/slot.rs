//! What the flush knows of one tracked run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ars_types::{RunId, StopMode};
use ars_wire::ledger::Owner;
use tokio_util::sync::CancellationToken;

use crate::{
    registry::{Feed, Kept},
    threads::Mailbox,
};

/// One tracked run: a position in its stream, and the ways into it.
pub(super) struct Slot {
    pub(super) owner: Owner,
    feed: Feed,
    pub(super) mailbox: Mailbox,
    /// The last event known to be in the ledger.
    flushed: AtomicU64,
    /// The ledger has the run. Of one whose claim was not answered that is not known until it says so.
    is_there: AtomicBool,
    /// Fires when the run turned out to be another generation's.
    lost: CancellationToken,
}

impl Slot {
    pub(super) fn new(owner: Owner, feed: Feed, mailbox: Mailbox, flushed: u64) -> Self {
        let (flushed, is_there) = (AtomicU64::new(flushed), AtomicBool::new(true));
        Self { owner, feed, mailbox, flushed, is_there, lost: CancellationToken::new() }
    }

    /// Of a run that the ledger may not have.
    pub(super) fn in_doubt(owner: Owner, feed: Feed, mailbox: Mailbox) -> Self {
        Self { is_there: AtomicBool::new(false), ..Self::new(owner, feed, mailbox, 0) }
    }

    /// The ledger has the run.
    pub(super) fn confirm(&self) {
        if !self.is_there.swap(true, Ordering::AcqRel) {
            tracing::info!(run = %self.run(), "a run that began without the ledger's answer is there");
        }
    }

    pub(super) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Acquire)
    }

    pub(super) fn run(&self) -> &RunId {
        &self.owner.run_id
    }

    /// The last event known to be in the ledger, and those behind it, oldest first; none that it would not take.
    pub(super) fn unflushed(&self) -> (u64, Vec<Kept>) {
        let flushed = self.flushed();
        (flushed, if self.is_there() { self.feed.after(flushed) } else { Vec::new() })
    }

    /// The last event known to be in the ledger.
    pub(super) fn flushed(&self) -> u64 {
        self.flushed.load(Ordering::Acquire)
    }

    /// The ledger has the events from behind `after` up to `seq`. Without those up to `after` that says nothing yet:
    /// the position stays before the hole.
    pub(super) fn flushed_to(&self, after: u64, seq: u64) {
        let moved = |flushed: u64| (flushed >= after).then(|| flushed.max(seq));
        // An unmoved position only has events sent twice, which replaces them with themselves.
        let _ = self.flushed.fetch_update(Ordering::AcqRel, Ordering::Acquire, moved);
    }

    /// Passes a stop on that reached the ledger. Once per mode: the registry knows what it was told.
    pub(super) fn stop(&self, mode: StopMode) {
        self.feed.ask_stop(mode);
    }

    /// The run is another generation's: its driver is stopped at once and says nothing more. One that was never there
    /// goes on without the ledger.
    pub(super) fn lose(&self) {
        if !self.is_there() {
            return;
        }
        if !self.lost.is_cancelled() {
            tracing::warn!(run = %self.run(), "the run is another process's now: stopped here without a word");
        }
        self.lost.cancel();
        self.feed.abort();
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }
}
