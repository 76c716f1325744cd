//! The engine: parts, counters, and an instance's life.

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

/// Request numbers per millisecond of an instance's start time, so that two instances never share a
/// number.
const REQUESTS_PER_MS: u64 = 1_024;
/// Maximum number of remembered lockfile keys by commit.
const KEYS_MAX: usize = 64;

/// A single resident. Callers share it within a thread.
///
/// An instance's counters start at zero: nothing that an earlier instance ran still runs.
pub struct Engine<S, H> {
    pub(super) store: Store<S>,
    pub(super) host: H,
    pub(super) live: RefCell<Live>,
    /// Signals that the state changed.
    pub(super) changed: Signal,
    /// Allows a single comparison between container and facts at a time.
    pub(super) probing: Lock,
    /// Allows a single use of the spare tree's place at a time: a make, a move or a removal.
    pub(super) spare_place: Lock,
    /// Allows a single dependency archive upload at a time.
    pub(super) archiving: Lock,
}

/// Values that this instance holds.
#[derive(Default)]
pub(super) struct Live {
    is_awake: bool,
    requests: u64,
    /// Operations in flight by thread, and those without a thread.
    threads: BTreeMap<StrictThreadKey, u32>,
    others: u32,
    /// Attempt of the cycle step that runs in this instance.
    pub running: Option<u64>,
    /// When the alarm that this instance set last is due, until it fires.
    pub alarm_at: Option<UnixMillis>,
    /// Projections for admitted attaches without a tree on the disk, in KiB.
    pub admitted: BTreeMap<StrictThreadKey, u64>,
    /// Allows a single attach or detach per thread at a time.
    locks: BTreeMap<StrictThreadKey, Lock>,
    /// The container that was started last, and whether the image is current.
    pub image: Option<(RuntimeId, bool)>,
    /// The cycle's code host token.
    pub token: Option<GitCredential>,
    /// Lockfile keys by commit.
    pub keys: BTreeMap<Sha, LockfileKey>,
    /// Knowledge about unsaved work in the threads' trees.
    pub trees: BTreeMap<StrictThreadKey, TreeUse>,
    /// Trees are being checked for the view.
    pub is_checking: bool,
    /// Time from which the view may have trees checked again.
    pub next_check_at: UnixMillis,
    /// Bytes in the current transfer.
    pub bytes: u64,
    /// A disk measurement is about to start.
    pub will_measure: bool,
    /// The spare tree that this instance made, until an attach takes it.
    pub spare: Option<Spare>,
    /// Workspaces that cycles began: a tree from an earlier workspace is no spare tree.
    pub workspaces: u64,
    /// What the task that makes spare trees was asked for.
    pub spare_wish: SpareWish,
}

/// How this instance uses a thread's tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TreeUse {
    /// Operations so far. A check that overlapped an operation counts for nothing.
    pub count: u64,
    /// Whether the tree had unsaved work at the last check, unless it was used since.
    pub unsaved: Option<bool>,
    /// First use since the last check.
    pub used_at: Option<UnixMillis>,
    /// When the tree was last checked.
    pub checked_at: Option<UnixMillis>,
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Opens the resident in a database.
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

    /// Returns the engine's host.
    pub const fn host(&self) -> &H {
        &self.host
    }

    /// Continues an earlier instance's work. Only the first call has an effect.
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

    /// Performs whatever is due. The platform calls it when the alarm fires, or after a start.
    ///
    /// # Errors
    /// The storage failed. The platform repeats the alarm.
    pub async fn alarm(self: &Rc<Self>) -> Result<(), Fault> {
        self.live.borrow_mut().alarm_at = None;
        self.wake().await?;
        self.feed(Input::AlarmFired).await?;
        self.sweep_if_due().await
    }

    /// Returns the number for a new request.
    pub(super) fn job(&self) -> Job {
        let mut live = self.live.borrow_mut();
        live.requests += 1;
        Job::Request { id: live.requests }
    }

    /// Waits for the thread's other attaches and detaches.
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

    /// Returns the knowledge about unsaved work in a thread's tree.
    pub(super) fn tree_use(&self, thread: &StrictThreadKey) -> TreeUse {
        self.live
            .borrow()
            .trees
            .get(thread)
            .copied()
            .unwrap_or_default()
    }

    /// Returns how many of a thread's operations are in flight.
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

    /// Remembers the lockfile key at a commit.
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
