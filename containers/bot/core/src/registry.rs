//! Registers this process's runs, live and recently finished (docs/reference/runs.md#registry).
//!
//! It numbers events, redacts them, keeps a bounded backlog, and serves any number of viewers. A
//! viewer reads the backlog at its own pace, so a slow viewer delays no other. Not here: durable
//! history (`history`), HTTP.

mod backlog;
mod run;
mod run_use;
mod subscription;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_events::{Actor, Redactor};
use ars_types::{RunId, StopMode, ThreadKey, UnixMillis, Visibility};
use subtle::ConstantTimeEq;
use tokio::sync::broadcast;

pub use backlog::Kept;
pub use run::{Feed, LiveRun, Origin, QueuePlace, Restored, RunHandle, Stops};
pub use run_use::{MODEL_TURN, RunUse};
pub use subscription::{Frame, Subscription};

use ars_bot_ports::{Clock, Randomness};
use run::Run;

/// How long a finished run is kept, so that viewers receive the end.
const FINISHED_RETENTION_MS: i64 = 60_000;
/// Index changes a slow viewer may lag behind before it has to start over.
const INDEX_BACKLOG: usize = 256;
/// Random bytes in a capability token.
const TOKEN_BYTES: usize = 32;
/// Random bytes in a run's id, a UUID.
const ID_BYTES: usize = 16;

/// A run's facts at creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    /// Label shown in lists.
    pub label: String,
    /// Name of the agent.
    pub agent: String,
    /// Model name as `provider/model`.
    pub model: Option<String>,
    /// Namespaced id of the channel.
    pub channel_id: String,
    /// Namespaced id of the user.
    pub user_id: String,
    /// Key of the thread.
    pub thread_key: ThreadKey,
    /// Who may see the channel.
    pub visibility: Visibility,
    /// Repository, if the run has any.
    pub repo: Option<String>,
    /// When the request arrived.
    pub received_at: UnixMillis,
}

/// A change in the run index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexChange {
    /// The run was created or changed.
    Upsert(RunId),
    /// The run left the registry.
    Removed(RunId),
}

/// How a stop request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    /// The run received the stop.
    Stopping,
    /// It had already finished.
    Finished,
    /// No such run exists here, or the token is wrong.
    Unknown,
}

/// This process's runs. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Arc<dyn Clock>,
    redactor: Arc<Redactor>,
    randomness: Randomness,
    /// Ordered by id, so that operations on all runs are deterministic.
    runs: Mutex<BTreeMap<RunId, Arc<Run>>>,
    index: broadcast::Sender<IndexChange>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn new(clock: Arc<dyn Clock>, redactor: Arc<Redactor>) -> Self {
        Self::drawing_from(Randomness::default(), clock, redactor)
    }

    /// An empty registry that draws ids and tokens from this source.
    pub fn drawing_from(
        randomness: Randomness,
        clock: Arc<dyn Clock>,
        redactor: Arc<Redactor>,
    ) -> Self {
        let (index, _) = broadcast::channel(INDEX_BACKLOG);
        Self {
            inner: Arc::new(Inner {
                clock,
                redactor,
                randomness,
                runs: Mutex::default(),
                index,
            }),
        }
    }

    /// Returns a new run's id.
    pub fn mint(&self) -> RunId {
        mint_id(&self.inner.randomness)
    }

    /// Creates a run. Events are published through the handle.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub fn create(&self, id: RunId, facts: RunFacts) -> Result<RunHandle, getrandom::Error> {
        let origin = Origin {
            started_at: self.inner.clock.now(),
            ..Origin::default()
        };
        self.restore(id, facts, origin)
    }

    /// Restores another process's run. The events keep their seqs and later ones follow them, and
    /// the token stays valid.
    ///
    /// Events that the other process published but the ledger never received are lost, and their
    /// seqs are reused. A viewer that saw such events continues after the stored ones
    /// (docs/decisions/0011).
    pub fn restore(
        &self,
        id: RunId,
        facts: RunFacts,
        origin: Origin,
    ) -> Result<RunHandle, getrandom::Error> {
        let token = origin.token.clone().filter(|token| is_token(token));
        let token = token.map_or_else(|| self.mint_token(), Ok)?;
        let run = Arc::new(Run::new(
            id.clone(),
            token,
            facts,
            origin,
            &self.inner.redactor,
        ));
        self.lock().insert(id.clone(), Arc::clone(&run));
        self.changed(IndexChange::Upsert(id));
        Ok(RunHandle::new(run, self.clone()))
    }

    /// Removes a run that another process owns. The viewers' streams end, and they reconnect there.
    pub fn forget(&self, id: &RunId) {
        let removed = self.lock().remove(id);
        if let Some(run) = removed {
            run.go();
            self.changed(IndexChange::Removed(id.clone()));
        }
    }

    /// Returns a run's current state, for a caller authorized by other means than the run's token.
    pub fn get(&self, id: &RunId) -> Option<LiveRun> {
        self.find(id).map(|run| run.view())
    }

    /// Returns a run's current state for the capability token; a wrong token equals an unknown run.
    pub fn open(&self, id: &RunId, token: &str) -> Option<LiveRun> {
        self.authorized(id, token).map(|run| run.view())
    }

    /// Returns every run in this process, newest first.
    pub fn list(&self) -> Vec<LiveRun> {
        self.evict();
        let mut runs: Vec<LiveRun> = self.lock().values().map(|run| run.view()).collect();
        runs.sort_by(|a, b| (b.started_at, &b.id).cmp(&(a.started_at, &a.id)));
        runs
    }

    /// Subscribes to a run's events after `after_seq`, authorized by the capability token.
    pub fn subscribe(&self, id: &RunId, token: &str, after_seq: u64) -> Option<Subscription> {
        self.authorized(id, token)
            .map(|run| Subscription::new(run, after_seq))
    }

    /// Subscribes to index changes.
    pub fn subscribe_index(&self) -> broadcast::Receiver<IndexChange> {
        self.inner.index.subscribe()
    }

    /// Stops a run, authorized by the capability token. Such a stop carries no actor.
    pub fn stop_with_token(&self, id: &RunId, token: &str, mode: StopMode) -> StopOutcome {
        self.authorized(id, token)
            .map_or(StopOutcome::Unknown, |run| {
                self.request_stop(&run, mode, None)
            })
    }

    /// Stops a run for an authorized actor.
    pub fn stop(&self, id: &RunId, mode: StopMode, actor: Actor) -> StopOutcome {
        self.find(id).map_or(StopOutcome::Unknown, |run| {
            self.request_stop(&run, mode, Some(actor))
        })
    }

    /// Stops every live run, before the process exits.
    pub fn stop_all(&self, mode: StopMode, actor: &Actor) {
        let runs: Vec<_> = self.lock().values().cloned().collect();
        for run in runs {
            self.request_stop(&run, mode, Some(actor.clone()));
        }
    }

    fn request_stop(&self, run: &Arc<Run>, mode: StopMode, actor: Option<Actor>) -> StopOutcome {
        if !run.request_stop(mode, actor, self.inner.clock.now()) {
            return StopOutcome::Finished;
        }
        self.changed(IndexChange::Upsert(run.id().clone()));
        StopOutcome::Stopping
    }

    fn authorized(&self, id: &RunId, token: &str) -> Option<Arc<Run>> {
        self.find(id)
            .filter(|run| bool::from(run.token().as_bytes().ct_eq(token.as_bytes())))
    }

    fn find(&self, id: &RunId) -> Option<Arc<Run>> {
        self.evict();
        self.lock().get(id).cloned()
    }

    /// Sets a run's reflection cost, as long as the run is kept.
    pub(crate) fn reflected(&self, id: &RunId, microusd: u64) {
        if let Some(run) = self.find(id) {
            run.lock().reflection_cost = Some(microusd);
        }
    }

    /// Evicts expired finished runs at each access. A live run is never evicted.
    fn evict(&self) {
        let now = self.inner.clock.now();
        let mut gone = Vec::new();
        self.lock().retain(|id, run| {
            let stays = run
                .finished_at()
                .is_none_or(|at| now - at < FINISHED_RETENTION_MS);
            if !stays {
                gone.push(id.clone());
            }
            stays
        });
        for id in gone {
            self.changed(IndexChange::Removed(id));
        }
    }

    fn changed(&self, change: IndexChange) {
        // An index without viewers is the usual case.
        drop(self.inner.index.send(change));
    }

    fn now(&self) -> UnixMillis {
        self.inner.clock.now()
    }

    fn mint_token(&self) -> Result<String, getrandom::Error> {
        let bytes: [u8; TOKEN_BYTES] = self.inner.randomness.bytes()?;
        Ok(hex::encode(bytes))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Arc<Run>>> {
        self.inner
            .runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn mint_id(randomness: &Randomness) -> RunId {
    // A hyphenated UUID is always a valid run id, so the loop runs once.
    loop {
        let drawn: Result<[u8; ID_BYTES], _> = randomness.bytes();
        // Without randomness there is no id, and `new_v4` panics with its own message.
        let id = drawn.map_or_else(
            |_| uuid::Uuid::new_v4(),
            |bytes| uuid::Builder::from_random_bytes(bytes).into_uuid(),
        );
        if let Ok(id) = RunId::parse(id.to_string()) {
            return id;
        }
    }
}

/// Returns whether a stored token looks like a capability token.
pub(crate) fn is_token(token: &str) -> bool {
    token.len() == 2 * TOKEN_BYTES
        && token
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
pub(crate) mod tests;
