//! The spare tree: made in the background, so that the next attach waits for no checkout.
//!
//! This instance remembers the tree that it made. A tree from an earlier instance is replaced. Not
//! here: how an attach takes it (`attach`).

use std::rc::Rc;

use ars_resident::daemon::{Answer, StepInput};
use ars_resident::disk::{Arrival, DiskDecision, Room, admit};
use ars_resident::lifecycle::StateWord;
use ars_resident::names::{LockfileKey, Sha};
use ars_resident::plan::{SpareContext, make_spare, remove_spare};
use ars_resident::pool::PoolUser;
use ars_resident::registry::Record;
use ars_resident::snapshot::Stamp;
use ars_resident::thread::Deps;
use ars_sql::Sql;
use ars_types::StrictRefName;
use futures::FutureExt as _;

use super::engine::Engine;
use super::steps::{StepError, Steps};
use crate::{Fault, Host};

/// Delay after an attach or a cycle: the first commands in a run go first.
const MAKE_DELAY_MS: i64 = 2_000;
/// Attempts to make a spare tree. After them it waits for the next attach, detach or cycle.
const MAKE_ATTEMPTS: u32 = 3;

/// A spare tree on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spare {
    pub git_ref: StrictRefName,
    pub sha: Sha,
    pub key: Option<LockfileKey>,
    pub user: PoolUser,
    pub deps: Deps,
}

/// What the task that makes spare trees was asked for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpareWish {
    /// Nothing: no task runs.
    #[default]
    None,
    /// A tree, since the task looked last.
    New,
    /// A tree, which the task makes now.
    Seen,
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Makes a spare tree in the background, unless there is a current tree.
    pub(super) fn make_spare_soon(self: &Rc<Self>) {
        let before = std::mem::replace(&mut self.live.borrow_mut().spare_wish, SpareWish::New);
        if before != SpareWish::None {
            return;
        }
        let engine = Rc::clone(self);
        let task = async move {
            let mut attempts_left = MAKE_ATTEMPTS;
            while attempts_left > 0 {
                attempts_left -= 1;
                engine.host.sleep(MAKE_DELAY_MS).await;
                engine.live.borrow_mut().spare_wish = SpareWish::Seen;
                let is_settled = engine.make_spare().await.unwrap_or(false);
                if engine.live.borrow().spare_wish == SpareWish::New {
                    // Something changed beside this attempt.
                    attempts_left = MAKE_ATTEMPTS;
                } else if is_settled {
                    break;
                }
            }
            // Without a spare tree an attach makes its own.
            engine.live.borrow_mut().spare_wish = SpareWish::None;
        };
        self.host.spawn(task.boxed_local());
    }

    /// Returns the spare tree's user if it has this ref.
    pub(super) fn spare_user(&self, git_ref: &StrictRefName) -> Option<PoolUser> {
        let live = self.live.borrow();
        live.spare
            .as_ref()
            .filter(|spare| spare.git_ref == *git_ref)
            .map(|spare| spare.user)
    }

    /// Returns whether another attempt would change nothing.
    async fn make_spare(self: &Rc<Self>) -> Result<bool, Fault> {
        let _place = self.spare_place.lock().await;
        let (Some(record), lifecycle) = (self.store.record()?, self.store.lifecycle()?) else {
            return Ok(true);
        };
        let Some(stamp) = lifecycle.facts().map(|facts| facts.stamp.clone()) else {
            return Ok(true);
        };
        if lifecycle.status().0 != StateWord::Warm || self.host.runtime().await.is_none() {
            return Ok(true);
        }
        let workspaces = self.live.borrow().workspaces;
        let key = record
            .command("install")
            .map(|_| stamp.lockfile_hash.clone());
        let pool = self.store.pool()?;
        let is_current = |spare: &Spare| {
            let is_same =
                spare.git_ref == stamp.git_ref && spare.sha == stamp.sha && spare.key == key;
            is_same && pool.is_free(spare.user)
        };
        if self.live.borrow().spare.as_ref().is_some_and(is_current) {
            return Ok(true);
        }
        self.live.borrow_mut().spare = None;
        let Some(user) = pool.highest_free() else {
            return Ok(true);
        };
        let mut steps = Steps::new(self);
        if !self.has_room_for_spare(&record).await? {
            drop(steps.run(remove_spare(), StepInput::None).await);
            return Ok(true);
        }
        let origin = self.host.origin(&record.resource);
        let made = self
            .run_spare_plan(&mut steps, &origin, &stamp, key.as_ref(), user)
            .await;
        let Ok(made) = made else { return Ok(false) };
        let mut live = self.live.borrow_mut();
        if let Some(deps) = made.filter(|_| live.workspaces == workspaces) {
            live.spare = Some(Spare {
                git_ref: stamp.git_ref,
                sha: stamp.sha,
                key,
                user,
                deps,
            });
        }
        Ok(true)
    }

    /// Makes the tree. Returns `None` if the branch moved, and the tree may have another commit.
    async fn run_spare_plan(
        self: &Rc<Self>,
        steps: &mut Steps<'_, S, H>,
        origin: &str,
        Stamp { git_ref, sha, .. }: &Stamp,
        key: Option<&LockfileKey>,
        user: PoolUser,
    ) -> Result<Option<Deps>, StepError> {
        if steps.tip(git_ref).await?.as_ref() != Some(sha) {
            return Ok(None);
        }
        let mut deps = Deps::None;
        for step in make_spare(SpareContext {
            git_ref,
            user,
            deps: key,
            origin,
        }) {
            if let Answer::Linked { deps: linked } = steps.run(step, StepInput::None).await? {
                deps = linked;
            }
        }
        let is_same = steps.tip(git_ref).await?.as_ref() == Some(sha);
        Ok(is_same.then_some(deps))
    }

    /// Returns whether the disk has room for the spare tree and for a thread's tree.
    async fn has_room_for_spare(self: &Rc<Self>, record: &Record) -> Result<bool, Fault> {
        let Some(sample) = self.measure().await? else {
            return Ok(false);
        };
        let mut room = Room {
            sample: &sample,
            free_kib: Some(sample.free_kib),
            admitted_kib: self.live.borrow().admitted.values().sum(),
            budget_mb: record.disk_budget_mb,
        };
        for _ in 0..2 {
            match admit(&room, Arrival::Linked) {
                DiskDecision::Admit { admitted_kib } => room.admitted_kib += admitted_kib,
                DiskDecision::Short { .. } => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Removes the spare tree. If it stays, the next spare tree replaces it.
    pub(super) async fn drop_spare(self: &Rc<Self>) {
        let _place = self.spare_place.lock().await;
        if self.live.borrow_mut().spare.take().is_some() {
            drop(Steps::new(self).run(remove_spare(), StepInput::None).await);
        }
    }
}
