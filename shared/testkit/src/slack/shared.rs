//! The workspace as the server's tasks and the test's handle share it.

use std::sync::Mutex;

use tokio::sync::watch;

use super::state::Workspace;

/// The workspace behind a lock, and a counter of its changes.
#[derive(Debug)]
pub(super) struct Shared {
    workspace: Mutex<Workspace>,
    pub(super) changed: watch::Sender<u64>,
}

impl Shared {
    pub(super) fn new(workspace: Workspace) -> Self {
        Self {
            workspace: Mutex::new(workspace),
            changed: watch::Sender::default(),
        }
    }

    /// Changes the workspace, and wakes everyone who waits for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Workspace) -> T) -> T {
        let changed = change(&mut self.workspace.lock().unwrap());
        self.changed.send_modify(|count| *count += 1);
        changed
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&Workspace) -> T) -> T {
        read(&self.workspace.lock().unwrap())
    }
}
