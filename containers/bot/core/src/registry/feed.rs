//! The ledger's end of a run: what it has not seen yet, and the ways a stop gets in from there.

use std::sync::Arc;

use ars_types::StopMode;

use super::{Registry, backlog::Kept, run::Run};

/// One run, as the ledger's flush sees it.
pub struct Feed {
    run: Arc<Run>,
    registry: Registry,
}

impl Feed {
    pub(super) fn new(run: Arc<Run>, registry: Registry) -> Self {
        Self { run, registry }
    }

    /// Events after `seq` that are still kept.
    pub fn after(&self, seq: u64) -> Vec<Kept> {
        self.run.lock().backlog.after(seq).cloned().collect()
    }

    /// Passes on a stop that reached the ledger; whoever asked is not known here. The same mode again changes nothing.
    pub fn ask_stop(&self, mode: StopMode) {
        self.registry.ask_stop(&self.run, mode, None);
    }

    /// Ends the run's work at once, without a word in its stream: it is somebody else's now.
    pub fn abort(&self) {
        self.run.abort();
    }
}
