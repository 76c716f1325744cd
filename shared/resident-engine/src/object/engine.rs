//! The engine: its parts, its counters, and the life of an instance.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ars_resident::daemon::{GitCredential, Job};
use ars_resident::lifecycle::Input;
use ars_resident::names::{LockfileKey, RuntimeId, Sha, StrictThreadKey};
use ars_sql::Sql;
use ars_types::UnixMillis;

use super::spare::{Spare, SpareWish};
use crate::store::Store;
use crate::sync::{Guard, Lock, Signal};
use crate::{Fault, Host};

/// Numbers of requests per millisecond of an instance's start, so that two instances never share one.
const REQUESTS_PER_MS: u64 = 1_024;
/// Lockfile keys of commits that are remembered.
const KEYS_MAX: usize = 64;

/// One resident. Callers share it within a thread.
///
/// The counters of an instance start at zero: nothing that an earlier instance ran still runs.
pub struct Engine<S, H> {
    pub(super) store: Store<S>,
    pub(super) host: H,
    pub(super) live: RefCell<Live>,
    /// The state changed.
    pub(super) changed: Signal,
    /// One comparison of the container with the facts at a time.
    pub(super) probing: Lock,
    /// One use of the place of the spare tree at a time: a make, a move or a removal.
    pub(super) spare_place: Lock,
    /// One upload of an archive of dependencies at a time.
    pub(super) archiving: Lock,
}

/// Values of this instance.
#[derive(Default)]
pub(super) struct Live {
    is_awake: bool,
    requests: u64,
    /// Operations in flight by thread, and those without one.
    threads: BTreeMap<StrictThreadKey, u32>,
    others: u32,
    /// Attempt of the step of the cycle that runs in this instance.
    pub running: Option<u64>,
    /// Time of the alarm that this instance set last, until it fires.
    pub alarm_at: Option<UnixMillis>,
    /// Projections of admitted attaches without a tree on the disk, in KiB.
    pub admitted: BTreeMap<StrictThreadKey, u64>,
    /// One attach or detach of a thread at a time.
    locks: BTreeMap<StrictThreadKey, Lock>,
    /// The container that was started last, and whether its image is current.
    pub image: Option<(RuntimeId, bool)>,
    /// Token of the cycle.
    pub token: Option<GitCredential>,
    /// Keys of the lockfiles at commits.
    pub keys: BTreeMap<Sha, LockfileKey>,
    /// What is known about unsaved work in the trees of threads.
    pub trees: BTreeMap<StrictThreadKey, TreeUse>,
    /// Trees are being checked for the view.
    pub is_checking: bool,
    /// Time from which the view may have trees checked again.
    pub next_check_at: UnixMillis,
    /// Bytes of the current transfer.
    pub bytes: u64,
    /// A measurement of the disk is about to start.
    pub will_measure: bool,
    /// The spare tree that this instance made, until an attach takes it.
    pub spare: Option<Spare>,
    /// Workspaces that cycles began: a tree of an earlier one is no spare tree.
    pub workspaces: u64,
    /// What the task that makes spare trees was asked for.
    pub spare_wish: SpareWish,
}

/// The use of a thread's tree by this instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TreeUse {
    /// Operations so far. A check that met one of them counts for nothing.
    pub count: u64,
    /// Whether the tree had unsaved work at its last check, unless it was used since.
    pub unsaved: Option<bool>,
    /// First use since the last check.
    pub used_at: Option<UnixMillis>,
    /// Last check.
    pub checked_at: Option<UnixMillis>,
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Opens the resident of a database.
    ///
    /// # Errors
    /// The schema could not be applied.
    pub fn open(sql: S, host: H) -> Result<Rc<Self>, Fault> {
        let store = Store::open(sql)?;
        Ok(Rc::new(Self {
            store,
            host,
            live: RefCell::default(),
            changed: Signal::default(),
            probing: Lock::default(),
            spare_place: Lock::default(),
            archiving: Lock::default(),
        }))
    }

    /// Returns the host.
    pub const fn host(&self) -> &H {
        &self.host
    }

    /// Continues the work of an earlier instance. Only the first call has an effect.
    pub(crate) async fn wake(self: &Rc<Self>) -> Result<(), Fault> {
        if std::mem::replace(&mut self.live.borrow_mut().is_awake, true) {
            return Ok(());
        }
        self.live.borrow_mut().requests = u64::try_from(self.host.now())
            .unwrap_or_default()
            .saturating_mul(REQUESTS_PER_MS);
        self.clear_orphans()?;
        self.feed(Input::Woke).await.map(drop)
    }

    /// Performs what is due. The platform calls it at the time of the alarm, or after a start.
    ///
    /// # Errors
    /// The storage failed. The platform repeats the alarm.
    pub async fn alarm(self: &Rc<Self>) -> Result<(), Fault> {
        self.live.borrow_mut().alarm_at = None;
        self.wake().await?;
        self.feed(Input::AlarmFired).await?;
        self.sweep_if_due().await
    }

    /// Returns the number of a new request.
    pub(super) fn job(&self) -> Job {
        let mut live = self.live.borrow_mut();
        live.requests += 1;
        Job::Request { id: live.requests }
    }

    /// Waits for other attaches and detaches of the thread.
    pub(super) async fn lock_thread(&self, thread: &StrictThreadKey) -> Guard {
        let lock = self
            .live
            .borrow_mut()
            .locks
            .entry(thread.clone())
            .or_default()
            .clone();
        lock.lock().await
    }

    /// Counts an operation until the value is dropped.
    pub(super) fn count(self: &Rc<Self>, thread: Option<&StrictThreadKey>) -> InFlight<S, H> {
        let now = self.host.now();
        let mut live = self.live.borrow_mut();
        match thread {
            Some(thread) => {
                let tree = live.trees.entry(thread.clone()).or_default();
                tree.count += 1;
                tree.unsaved = None;
                tree.used_at.get_or_insert(now);
                *live.threads.entry(thread.clone()).or_default() += 1;
            }
            None => live.others += 1,
        }
        InFlight {
            engine: Rc::clone(self),
            thread: thread.cloned(),
        }
    }

    /// Returns what is known about unsaved work in the tree of a thread.
    pub(super) fn tree_use(&self, thread: &StrictThreadKey) -> TreeUse {
        self.live
            .borrow()
            .trees
            .get(thread)
            .copied()
            .unwrap_or_default()
    }

    /// Returns the operations of a thread in flight.
    pub(super) fn in_flight_of(&self, thread: &StrictThreadKey) -> u32 {
        self.live
            .borrow()
            .threads
            .get(thread)
            .copied()
            .unwrap_or_default()
    }

    /// Returns all operations in flight, without the cycle.
    pub(super) fn in_flight(&self) -> u32 {
        let live = self.live.borrow();
        live.threads
            .values()
            .fold(live.others, |sum, count| sum.saturating_add(*count))
    }

    /// Remembers the key of the lockfiles at a commit.
    pub(super) fn remember_key(&self, sha: &Sha, key: &LockfileKey) {
        let mut live = self.live.borrow_mut();
        if live.keys.len() >= KEYS_MAX {
            live.keys.clear();
        }
        live.keys.insert(sha.clone(), key.clone());
    }
}

/// An operation in flight.
pub(super) struct InFlight<S, H> {
    engine: Rc<Engine<S, H>>,
    thread: Option<StrictThreadKey>,
}

impl<S, H> Drop for InFlight<S, H> {
    fn drop(&mut self) {
        let mut live = self.engine.live.borrow_mut();
        match &self.thread {
            None => live.others = live.others.saturating_sub(1),
            Some(thread) => {
                let left = live
                    .threads
                    .get(thread)
                    .copied()
                    .unwrap_or_default()
                    .saturating_sub(1);
                match left {
                    0 => drop(live.threads.remove(thread)),
                    left => drop(live.threads.insert(thread.clone(), left)),
                }
            }
        }
    }
}
