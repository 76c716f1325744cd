//! A run's flush position.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ars_events::Actor;
use ars_types::{RunId, StopMode};
use ars_wire::ledger::Owner;
use tokio_util::sync::CancellationToken;

use crate::{
    registry::{Feed, Kept},
    threads::Mailbox,
};

/// A position in a run's stream, with the run's stops and mailbox.
pub(super) struct FlushCursor {
    pub(super) owner: Owner,
    feed: Feed,
    pub(super) mailbox: Mailbox,
    /// Seq of the last event known to be in the ledger.
    flushed: AtomicU64,
    /// Whether the ledger is known to have the run.
    confirmed: AtomicBool,
    /// Whether the run has left this process.
    left: AtomicBool,
    /// Fires when another generation owns the run.
    fenced: CancellationToken,
}

impl FlushCursor {
    /// Creates a confirmed claim's cursor.
    pub(super) fn new(owner: Owner, feed: Feed, mailbox: Mailbox, flushed: u64) -> Self {
        Self {
            owner,
            feed,
            mailbox,
            flushed: AtomicU64::new(flushed),
            confirmed: AtomicBool::new(true),
            left: AtomicBool::new(false),
            fenced: CancellationToken::new(),
        }
    }

    /// Creates the cursor for a claim without a response.
    pub(super) fn unconfirmed(owner: Owner, feed: Feed, mailbox: Mailbox) -> Self {
        Self {
            confirmed: AtomicBool::new(false),
            ..Self::new(owner, feed, mailbox, 0)
        }
    }

    /// Notes that the ledger has the run.
    pub(super) fn confirm(&self) {
        if !self.confirmed.swap(true, Ordering::AcqRel) {
            tracing::info!(run = %self.run(), "late confirmation: the ledger has the run");
        }
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed.load(Ordering::Acquire)
    }

    pub(super) fn run(&self) -> &RunId {
        &self.owner.run_id
    }

    /// Returns the position and the events behind it, oldest first. An unconfirmed run has none to flush.
    pub(super) fn unflushed(&self) -> (u64, Vec<Kept>) {
        let flushed = self.flushed();
        let events = if self.is_confirmed() {
            self.feed.after(flushed)
        } else {
            Vec::new()
        };
        (flushed, events)
    }

    /// Seq of the last event known to be in the ledger.
    pub(super) fn flushed(&self) -> u64 {
        self.flushed.load(Ordering::Acquire)
    }

    /// Advances to `seq` if the events up to `after` are flushed; otherwise stays before the gap.
    pub(super) fn advance(&self, after: u64, seq: u64) {
        let advanced = |flushed: u64| (flushed >= after).then(|| flushed.max(seq));
        // A position that stays only causes events to be sent twice, which replaces them with themselves.
        let _ = self
            .flushed
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, advanced);
    }

    /// Relays a stop that reached the ledger. The registry ignores a repeated stop.
    pub(super) fn stop(&self, mode: StopMode, actor: Option<Actor>) {
        self.feed.request_stop(mode, actor);
    }

    /// Notes that the run is over or handed off.
    pub(super) fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Aborts the driver here, because another generation owns the run.
    ///
    /// An unconfirmed run continues without the ledger. After a run has left, a flush that was under way reports it as
    /// unknown.
    pub(super) fn fence_out(&self) {
        if !self.is_confirmed() || self.left.load(Ordering::Acquire) {
            return;
        }
        if !self.fenced.is_cancelled() {
            tracing::warn!(run = %self.run(), "fenced out: another process owns the run");
        }
        self.fenced.cancel();
        self.feed.abort();
    }

    pub(super) fn is_fenced(&self) -> bool {
        self.fenced.is_cancelled()
    }

    /// Completes when another generation owns the run.
    pub(super) async fn fenced(&self) {
        self.fenced.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use ars_types::Generation;

    use super::*;
    use crate::registry::tests::running;

    #[test]
    fn run_that_has_left_is_not_fenced_out() {
        for has_left in [false, true] {
            let (_world, run) = running();
            let owner = Owner {
                run_id: run.id().clone(),
                generation: Generation::parse("g1").unwrap(),
            };
            let cursor = FlushCursor::new(owner, run.feed(), Mailbox::default(), 0);
            if has_left {
                cursor.leave();
            }
            cursor.fence_out();
            assert_eq!(
                (cursor.is_fenced(), run.stops().hard.is_cancelled()),
                (!has_left, !has_left)
            );
        }
    }
}
