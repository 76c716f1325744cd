//! Removes a thread's tree. A tree with unsaved work is saved first, or it stays.

use std::rc::Rc;

use ars_resident::daemon::{Answer, StepInput};
use ars_resident::names::StrictThreadKey;
use ars_resident::plan::{Operation, PlanStep, check, evict};
use ars_resident::pool::Holder;
use ars_resident::thread::{Binding, TreeCheck};
use ars_sql::Sql;

use super::deps::storage;
use super::engine::{Engine, TreeUse};
use super::steps::{StepError, Steps};
use crate::{Fault, Host};

/// The known state of a thread's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeState {
    /// No container runs, so there is no disk.
    Asleep,
    /// The tree, or `None` if it is missing.
    Known(Option<TreeCheck>),
    /// The tree could not be checked. It counts as having unsaved work.
    Unread,
}

impl TreeState {
    /// Returns the tree for a decision. An unread tree is unreadable.
    pub(super) fn check(self) -> Option<TreeCheck> {
        match self {
            Self::Asleep | Self::Known(None) => None,
            Self::Known(check) => check,
            Self::Unread => Some(TreeCheck {
                is_readable: false,
                has_tracked_changes: false,
                has_untracked: false,
                has_unpushed: false,
                has_tip: false,
            }),
        }
    }
}

/// Returns the input for a step that saves a tree; other plan steps have none.
pub(super) fn checkpoint_input(step: &PlanStep) -> StepInput {
    match step.operation {
        Operation::Checkpoint { .. } => StepInput::Checkpoint { run: None },
        _ => StepInput::None,
    }
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Checks a binding's tree. Starts no sleeping container.
    pub(super) async fn check_tree(self: &Rc<Self>, binding: &Binding) -> TreeState {
        let Some(user) = binding.user else {
            return TreeState::Known(None);
        };
        if self.host.runtime().await.is_none() {
            return TreeState::Asleep;
        }
        let before = self.tree_use(&binding.thread_key);
        let mut steps = Steps::new(self);
        let step = check(&binding.thread_key, &binding.git_ref, user, None);
        match steps.run(step, StepInput::None).await {
            Ok(Answer::Tree { check }) => {
                self.remember_check(&binding.thread_key, before, check);
                TreeState::Known(check)
            }
            Err(StepError::Replaced) => TreeState::Asleep,
            Ok(_) | Err(_) => TreeState::Unread,
        }
    }

    /// Remembers for the view whether a tree has unsaved work.
    /// A tree that was used meanwhile is left out, because it may have changed.
    fn remember_check(&self, thread: &StrictThreadKey, before: TreeUse, check: Option<TreeCheck>) {
        if let Some(check) = check
            && self.in_flight_of(thread) == 0
            && self.tree_use(thread).count == before.count
        {
            let checked_at = Some(self.host.now());
            let known = TreeUse {
                unsaved: Some(check.has_unsaved()),
                used_at: None,
                checked_at,
                ..before
            };
            self.live.borrow_mut().trees.insert(thread.clone(), known);
        }
    }

    /// Removes a thread's tree and returns the user. The binding stays.
    ///
    /// # Errors
    /// The step that failed. The tree stays then, or the user does.
    pub(super) async fn evict(
        self: &Rc<Self>,
        binding: &Binding,
        state: TreeState,
        why: &str,
    ) -> Result<(), StepError> {
        if let (Some(user), false) = (binding.user, state == TreeState::Asleep) {
            let has_unsaved = state.check().is_some_and(TreeCheck::has_unsaved);
            let mut steps = Steps::new(self);
            for step in evict(&binding.thread_key, &binding.git_ref, user, has_unsaved) {
                let input = checkpoint_input(&step);
                match steps.run(step, input).await {
                    Ok(Answer::Saved {
                        checkpoint: Some(saved),
                    }) => {
                        let now = self.host.now();
                        let stored = self.store.add_checkpoint(&binding.thread_key, &saved, now);
                        stored.map_err(|fault| storage(&fault))?;
                    }
                    Ok(_) => {}
                    // The disk is gone, so nothing is left to remove.
                    Err(StepError::Replaced) if !has_unsaved => break,
                    Err(error) => return Err(error),
                }
            }
        }
        self.unbind(&binding.thread_key, binding, why)
            .map_err(|fault| storage(&fault))
    }

    /// Records an eviction and returns the user to the pool, unless the thread was attached again.
    fn unbind(&self, thread: &StrictThreadKey, before: &Binding, why: &str) -> Result<(), Fault> {
        self.store.atomically(|| {
            let Some(binding) = self.store.binding(thread)? else {
                return Ok(());
            };
            if binding.last_attach_at != before.last_attach_at {
                return Ok(());
            }
            let evicted = Binding {
                user: None,
                evicted_at: Some(self.host.now()),
                evicted_why: Some(why.to_owned()),
                ..binding
            };
            self.store.save_binding(&evicted, None)?;
            self.release(&Holder::Thread(thread.clone()))
        })
    }
}
