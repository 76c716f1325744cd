//! The ledger's access to a run: unflushed events, and stops from the ledger.

use std::sync::Arc;

use ars_types::StopMode;

use super::{Registry, backlog::Kept, run::Run};

/// One run, for the ledger's flush.
pub struct Feed {
    run: Arc<Run>,
    registry: Registry,
}

impl Feed {
    pub(super) fn new(run: Arc<Run>, registry: Registry) -> Self {
        Self { run, registry }
    }

    /// Returns the kept events after `seq`.
    pub fn after(&self, seq: u64) -> Vec<Kept> {
        self.run.lock().backlog.after(seq).cloned().collect()
    }

    /// Applies a stop from the ledger, without an actor. A repeated mode changes nothing.
    pub fn request_stop(&self, mode: StopMode) {
        self.registry.request_stop(&self.run, mode, None);
    }

    /// Cancels the run's work without an event, because another process owns it.
    pub fn abort(&self) {
        self.run.abort();
    }
}
