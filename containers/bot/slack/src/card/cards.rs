//! The cards of this process's runs.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ars_slack::Ts;
use ars_types::{RunId, RunStatus, UnixMillis};
use ars_wire::ledger::LiveRun;
use tokio::sync::{Notify, mpsc, watch};

use super::keeper::Keeper;
use crate::{api::Recipient, workspace::Workspace};

/// How long the reply waits for the card's last frame.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
/// Changes that wait for a card's task. Status lines beyond it are dropped.
const MAX_CARD_CHANGES: usize = 64;

/// Who posted the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This process posts it, as a stream if the person who asked is known.
    New(Option<Recipient>),
    /// An earlier process may have posted it, so the thread is searched first.
    Earlier(RunRow),
}

/// The facts in the ledger about another process's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunRow {
    /// The run's id.
    pub(crate) run: RunId,
    /// Name of the agent, or empty.
    pub(crate) agent: String,
    /// Name of the model.
    pub(crate) model: Option<String>,
    /// When the run began.
    pub(crate) started_at: UnixMillis,
}

impl RunRow {
    pub(crate) fn from_ledger(run: &LiveRun) -> Self {
        let text = |name: &str| run.meta.get(name).and_then(|value| value.as_str());
        Self {
            run: run.run_id.clone(),
            agent: text("agent").unwrap_or_default().to_owned(),
            model: text("model").map(str::to_owned),
            started_at: run.started_at.rounded(),
        }
    }
}

/// A change from outside the run's events, before the end.
pub(super) enum Change {
    /// A status line.
    Status(String),
    /// The run's cost in millionths of a dollar.
    Cost(u64),
}

/// Why a card shows its last frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The run ended.
    Closed(RunStatus),
    /// Another process continues the run and the card.
    Moved,
}

/// A card of a run. Cheap to clone; the card lives on without handles.
#[derive(Clone)]
pub(crate) struct CardHandle {
    changes: mpsc::Sender<Change>,
    end: Arc<watch::Sender<Option<End>>>,
    shown: watch::Receiver<bool>,
}

impl CardHandle {
    /// Shows a status line.
    pub(crate) fn status(&self, text: String) {
        // A newer line follows.
        let _ = self.changes.try_send(Change::Status(text));
    }

    /// Shows the run's cost.
    pub(crate) fn cost(&self, microusd: u64) {
        let _ = self.changes.try_send(Change::Cost(microusd));
    }

    /// Shows how the run ended. Returns after the last frame, or after a while.
    pub(crate) async fn close(&self, status: RunStatus) {
        self.end(End::Closed(status)).await;
    }

    /// Shows that another process continues the run.
    pub(crate) async fn moved(&self) {
        self.end(End::Moved).await;
    }

    async fn end(&self, end: End) {
        self.end.send_replace(Some(end));
        let mut shown = self.shown.clone();
        // The card's task goes on without the reply.
        let _ = tokio::time::timeout(CLOSE_LIMIT, shown.wait_for(|shown| *shown)).await;
    }
}

/// The cards that this process keeps.
#[derive(Default, Clone)]
pub(crate) struct Cards {
    live: Arc<Mutex<HashMap<RunId, CardHandle>>>,
    /// Notified when a card ended.
    settled: Arc<Notify>,
}

impl Cards {
    /// Starts a run's card, or returns it if it was started before.
    pub(crate) fn start(
        &self,
        workspace: &Workspace,
        (channel, thread): (String, Ts),
        run: RunId,
        origin: Origin,
    ) -> CardHandle {
        let mut live = self.lock();
        if let Some(handle) = live.get(&run) {
            return handle.clone();
        }
        let (changes, received) = mpsc::channel(MAX_CARD_CHANGES);
        let (end, ended) = watch::channel(None);
        let (showing, shown) = watch::channel(false);
        let handle = CardHandle {
            changes,
            end: Arc::new(end),
            shown,
        };
        live.insert(run.clone(), handle.clone());
        let place = (channel, thread);
        let keeper = Keeper::new(workspace.clone(), place, run.clone(), origin);
        let cards = self.clone();
        tokio::spawn(async move {
            keeper.run(received, ended, showing).await;
            cards.lock().remove(&run);
            cards.settled.notify_waiters();
        });
        handle
    }

    /// Returns whether this process keeps a run's card.
    pub(crate) fn owns(&self, run: &str) -> bool {
        self.lock().keys().any(|known| known.as_str() == run)
    }

    /// Waits until each card shows its last frame.
    pub(crate) async fn settled(&self) {
        loop {
            let mut settled = std::pin::pin!(self.settled.notified());
            settled.as_mut().enable();
            if self.lock().is_empty() {
                return;
            }
            settled.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, CardHandle>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
