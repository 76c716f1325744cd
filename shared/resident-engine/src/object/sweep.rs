//! The hourly sweep, and the work after a cycle.
//!
//! Unused trees, dependencies and archives are removed, and the disk is measured.

use std::rc::Rc;

use ars_resident::daemon::StepInput;
use ars_resident::lifecycle::TreesState;
use ars_resident::names::{BackupId, StrictThreadKey};
use ars_resident::plan::sweep_deps;
use ars_resident::thread::{
    Binding, SWEEP_INTERVAL_MS, SweepState, TREE_RETENTION_DAYS, TreeCheck, sweep,
};
use ars_sql::Sql;
use futures::FutureExt as _;

use super::engine::Engine;
use super::evict::TreeState;
use super::steps::Steps;
use crate::{Fault, Host};

/// What a sweep did.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// Evicted threads with the reason.
    pub evicted: Vec<(Binding, &'static str)>,
    /// Threads that keep their trees.
    pub kept: Vec<StrictThreadKey>,
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Starts the sweep if it is due.
    pub(super) async fn sweep_if_due(self: &Rc<Self>) -> Result<(), Fault> {
        let now = self.host.now();
        if self.store.sweep_at()?.is_none_or(|at| at > now) {
            return Ok(());
        }
        let has_trees = self
            .store
            .bindings()?
            .iter()
            .any(|binding| !binding.is_evicted());
        self.store
            .save_sweep_at(has_trees.then_some(now + SWEEP_INTERVAL_MS))?;
        let engine = Rc::clone(self);
        self.host.spawn(
            async move {
                // A tree that could not be removed is met by the next sweep.
                drop(engine.sweep().await);
                engine.measure_soon();
            }
            .boxed_local(),
        );
        self.arm().await;
        Ok(())
    }

    /// Evicts trees that are too old, clean and idle, or without their branch.
    pub(super) async fn sweep(self: &Rc<Self>) -> Result<Swept, Fault> {
        let mut swept = Swept::default();
        let Some(record) = self.store.record()? else {
            return Ok(swept);
        };
        let retention_days = record.worktree_ttl_days.unwrap_or(TREE_RETENTION_DAYS);
        for binding in self
            .store
            .bindings()?
            .into_iter()
            .filter(|binding| !binding.is_evicted())
        {
            // An attach or detach on the thread is in progress.
            let Some(_turn) = self.lock_thread(&binding.thread_key).now_or_never() else {
                swept.kept.push(binding.thread_key);
                continue;
            };
            let tree = self.check_tree(&binding).await;
            let is_awake = tree != TreeState::Asleep;
            let is_default = binding.git_ref == record.default_ref;
            let state = SweepState {
                in_flight: self.in_flight_of(&binding.thread_key),
                is_awake,
                // A missing tree has nothing to lose.
                tree: tree.check().or(is_awake.then_some(TreeCheck::MISSING)),
                is_finished: is_awake && !is_default && self.is_gone(&binding).await,
            };
            let why = sweep(&binding, state, retention_days, self.host.now());
            match why {
                Some(why) if self.evict(&binding, tree, why).await.is_ok() => {
                    swept.evicted.push((binding, why));
                }
                _ => swept.kept.push(binding.thread_key),
            }
        }
        Ok(swept)
    }

    /// Returns whether the mirror lacks the branch. Without an answer the branch counts as
    /// existing.
    async fn is_gone(self: &Rc<Self>, binding: &Binding) -> bool {
        matches!(Steps::new(self).tip(&binding.git_ref).await, Ok(None))
    }

    /// Returns whether trees have unsaved work.
    pub(super) async fn trees_state(self: &Rc<Self>) -> TreesState {
        let Ok(bindings) = self.store.bindings() else {
            return TreesState::Unknown;
        };
        let mut state = TreesState::Clean;
        for binding in bindings.into_iter().filter(|binding| !binding.is_evicted()) {
            match self.check_tree(&binding).await {
                TreeState::Unread => return TreesState::Unknown,
                tree if tree.check().is_some_and(TreeCheck::has_unsaved) => {
                    state = TreesState::Dirty;
                }
                TreeState::Asleep | TreeState::Known(_) => {}
            }
        }
        state
    }

    /// Removes dependency store entries that neither the checkout nor a tree uses.
    async fn sweep_store(self: &Rc<Self>) -> Result<(), Fault> {
        if self.host.runtime().await.is_none() {
            return Ok(());
        }
        let of_checkout = self
            .store
            .lifecycle()?
            .facts()
            .map(|facts| facts.stamp.lockfile_hash.clone());
        let trees = self
            .store
            .bindings()?
            .into_iter()
            .filter(|binding| !binding.is_evicted());
        // Without facts the checkout is made again, and the archive is about to be used.
        let has_checkout = of_checkout.is_some();
        let keep: Vec<_> = trees
            .filter_map(|binding| binding.deps_key)
            .chain(of_checkout)
            .collect();
        if has_checkout {
            self.store.keep_deps_archives(&keep)?;
        }
        drop(
            Steps::new(self)
                .run(sweep_deps(keep), StepInput::None)
                .await,
        );
        Ok(())
    }

    /// Deletes archives that neither a snapshot nor the dependency key names. Their cycle ended
    /// between its two uploads, or lost a response.
    async fn sweep_backups(self: &Rc<Self>) -> Result<(), Fault> {
        let lifecycle = self.store.lifecycle()?;
        // A cycle in progress has not named the archives yet.
        if lifecycle.cycle().is_some() {
            return Ok(());
        }
        let mut named: Vec<BackupId> = lifecycle
            .snapshot()
            .iter()
            .flat_map(|it| it.backups())
            .collect();
        named.extend(self.store.deps_backups()?);
        let unnamed: Vec<BackupId> = self
            .store
            .backups()?
            .into_iter()
            .filter(|id| !named.contains(id))
            .collect();
        if !unnamed.is_empty() && self.host.delete_backups(&unnamed).await.is_ok() {
            self.store.forget_backups(&unnamed)?;
        }
        Ok(())
    }

    /// Performs the work after a cycle. Every part may fail: the next cycle repeats it.
    pub(super) async fn housekeep(self: &Rc<Self>) {
        drop(self.sweep().await);
        drop(self.sweep_store().await);
        drop(self.sweep_backups().await);
        drop(self.measure().await);
        self.make_spare_soon();
        drop(self.archive_deps().await);
    }
}
