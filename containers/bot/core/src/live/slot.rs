//! What the flush knows of one tracked run.

use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Fires when the run turned out to be another generation's.
    lost: CancellationToken,
}

impl Slot {
    pub(super) fn new(owner: Owner, feed: Feed, mailbox: Mailbox, flushed: u64) -> Self {
        Self { owner, feed, mailbox, flushed: AtomicU64::new(flushed), lost: CancellationToken::new() }
    }

    pub(super) fn run(&self) -> &RunId {
        &self.owner.run_id
    }

    /// The last event known to be in the ledger, and those behind it, oldest first.
    pub(super) fn unflushed(&self) -> (u64, Vec<Kept>) {
        let flushed = self.flushed();
        (flushed, self.feed.after(flushed))
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

    /// The run is another generation's: its driver is stopped at once and says nothing more.
    pub(super) fn lose(&self) {
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
