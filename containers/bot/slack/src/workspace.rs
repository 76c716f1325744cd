//! The state that the parts of the surface share: one workspace, as this process sees it.

use std::sync::{Arc, OnceLock};

use ars_bot_core::Core;
use ars_bot_ports::Documents;
use ars_wire::health::ChatStatus;
use tokio::sync::{OnceCell, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    SlackSettings,
    api::{Account, Api, ApiError},
    card::Cards,
    directory::Directory,
    downloads::Downloads,
    inbox::{Changes, Decisions, Joined, Pending, Seen},
};

/// How far the platform's clock may lag behind this machine's, in milliseconds.
pub(crate) const MAX_CLOCK_LAG_MS: i64 = 30_000;

/// Messages that are served at once, from their lookups to their run or answer. Others wait without
/// their files.
const MAX_SERVING: usize = 64;

/// One workspace. Cheap to clone.
#[derive(Clone)]
pub struct Workspace(Arc<State>);

/// The state behind [`Workspace`].
pub struct State {
    pub(crate) settings: SlackSettings,
    pub(crate) api: Api,
    pub(crate) directory: Directory,
    pub(crate) seen: Seen,
    pub(crate) joined: Joined,
    pub(crate) changes: Changes,
    pub(crate) downloads: Downloads,
    pub(crate) cards: Cards,
    pub(crate) pending: Pending,
    /// Turns of the messages that are served at once.
    pub(crate) serving: Semaphore,
    pub(crate) decisions: Decisions,
    /// Fires when the drain begins.
    pub(crate) draining: CancellationToken,
    pub(crate) status: watch::Sender<ChatStatus>,
    account: OnceCell<Account>,
    /// Set once, when the services start: the core is made of channels that this surface reopens.
    core: OnceLock<Core>,
}

impl std::ops::Deref for Workspace {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl Workspace {
    /// Makes the workspace's client. Nothing is sent yet.
    ///
    /// # Errors
    /// The system's TLS roots cannot be read.
    pub fn new(
        settings: SlackSettings,
        documents: Arc<dyn Documents>,
    ) -> Result<Self, reqwest::Error> {
        let api = Api::new(
            settings.base.clone(),
            settings.bot_token.clone(),
            settings.app_token.clone(),
        )?;
        Ok(Self(Arc::new(State {
            settings,
            api,
            directory: Directory::default(),
            seen: Seen::default(),
            joined: Joined::default(),
            changes: Changes::default(),
            downloads: Downloads::default(),
            cards: Cards::default(),
            pending: Pending::new(Arc::clone(&documents)),
            decisions: Decisions::new(documents),
            serving: Semaphore::new(MAX_SERVING),
            draining: CancellationToken::new(),
            status: watch::Sender::default(),
            account: OnceCell::new(),
            core: OnceLock::new(),
        })))
    }

    /// Connects the workspace with the core that serves the messages.
    pub fn attach(&self, core: Core) {
        // A second core would be of the same process.
        let _ = self.core.set(core);
    }

    /// Returns the state for the health probe, as it changes.
    pub fn status(&self) -> watch::Receiver<ChatStatus> {
        self.0.status.subscribe()
    }

    /// Accepts no more messages. Live cards say why.
    pub fn drain(&self) {
        self.0.draining.cancel();
    }
}

impl State {
    /// Returns the core, once the services have started.
    pub(crate) fn core(&self) -> Option<&Core> {
        self.core.get()
    }

    /// Returns the bot's account, asked once.
    pub(crate) async fn account(&self) -> Result<&Account, ApiError> {
        self.account.get_or_try_init(|| self.api.account()).await
    }

    /// Returns a run's page, or `None` without a public base URL.
    pub(crate) fn page(&self, run: &str) -> Option<String> {
        let base = self.settings.pages.as_ref()?;
        Some(format!("{base}/runs/{run}"))
    }
}
