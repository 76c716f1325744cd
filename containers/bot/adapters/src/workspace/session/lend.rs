//! A session, lent to a single command at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ars_bot_ports::WorkspaceError;
use tokio_util::sync::CancellationToken;

use super::live::Live;
use crate::{
    egress::{Gate, GateKind, RunEgress},
    sandbox::{Access, RunGroup, Sandbox},
    workspace::process::infra,
};

/// Starts that fail before commands go on without a session.
const FAILURES_MAX: u32 = 3;

/// Rights for a session and the commands in it.
pub(crate) struct SessionSettings {
    pub(crate) sandbox: Arc<Sandbox>,
    /// How commands reach a proxy, if they have a proxy.
    pub(crate) gate: Option<GateKind>,
    /// The folders. The network comes from `gate`, or from the sandbox.
    pub(crate) access: Access,
    /// The commands' control group.
    pub(crate) group: Option<Arc<RunGroup>>,
}

/// A sandbox that is started when a command needs it.
pub(crate) struct Session {
    pub(super) settings: SessionSettings,
    starting: tokio::sync::Mutex<u32>,
    slot: Mutex<Slot>,
    /// Ends the command in progress, too.
    pub(super) ended: CancellationToken,
}

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    Idle(Box<Live>),
    /// A command has it.
    Lent,
    /// It cannot be had.
    Impossible,
}

/// A session that a command has. It ends if the command breaks off.
pub(crate) struct Lent {
    pub(super) session: Arc<Session>,
    live: Option<Box<Live>>,
    pub(super) is_over: bool,
}

impl Session {
    /// Returns a session that is not started yet.
    pub(crate) fn new(settings: SessionSettings) -> Self {
        Self {
            settings,
            starting: tokio::sync::Mutex::default(),
            slot: Mutex::default(),
            ended: CancellationToken::new(),
        }
    }

    /// Ends the command in progress with everything it left. No command begins after it.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends the session to a command, and starts it if need be. `None` if the command needs a
    /// separate sandbox.
    pub(crate) async fn lend(self: &Arc<Self>) -> Option<Lent> {
        let mut failures = self.starting.lock().await;
        self.lend_or_start(&mut failures).await
    }

    async fn lend_or_start(self: &Arc<Self>, failures: &mut u32) -> Option<Lent> {
        if self.ended.is_cancelled() {
            return None;
        }
        let taken = {
            let mut slot = self.slot();
            match &mut *slot {
                Slot::Lent | Slot::Impossible => return None,
                Slot::Empty | Slot::Idle(_) => std::mem::replace(&mut *slot, Slot::Lent),
            }
        };
        let mut lent = Lent {
            session: Arc::clone(self),
            live: None,
            is_over: true,
        };
        lent.live = match taken {
            // A killed session is replaced.
            Slot::Idle(live) if live.is_alive() => Some(live),
            _ => match Live::start(&self.settings).await {
                Ok(Some(live)) => Some(Box::new(live)),
                Ok(None) => {
                    *failures = FAILURES_MAX;
                    None
                }
                Err(error) => {
                    tracing::warn!(%error, "the shared sandbox of commands did not start: the next one has its own");
                    *failures += 1;
                    None
                }
            },
        };
        if lent.live.is_some() {
            return Some(lent);
        }
        drop(lent);
        if *failures >= FAILURES_MAX {
            *self.slot() = Slot::Impossible;
        }
        None
    }

    /// Starts the session in the background, so that the first command finds it.
    pub(crate) fn prepare(self: &Arc<Self>) {
        let session = Arc::clone(self);
        tokio::spawn(async move {
            // Holds the lock until the session is idle, so that a first command waits for it.
            let mut failures = session.starting.lock().await;
            drop(session.lend_or_start(&mut failures).await);
        });
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let kept = self.live.take().filter(|_| self.is_over);
        *self.session.slot() = kept.map_or(Slot::Empty, Slot::Idle);
    }
}

impl Lent {
    pub(super) fn live(&self) -> Result<&Live, WorkspaceError> {
        self.live
            .as_deref()
            .ok_or_else(|| WorkspaceError::Infra("the session has ended".into()))
    }

    /// Opens a command's proxy, if commands have a proxy.
    pub(crate) fn gate(&self, egress: &Arc<RunEgress>) -> Result<Option<Gate>, WorkspaceError> {
        let opened = self
            .live()?
            .line
            .as_ref()
            .map(|line| Gate::of_session(egress, line))
            .transpose();
        opened.map_err(|error| infra("the egress proxy", &error))
    }
}
