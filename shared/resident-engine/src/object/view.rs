//! What a resident reports about itself, from stored values.

use std::rc::Rc;

use ars_resident::lifecycle::{StateWord, TreesState};
use ars_resident::names::StrictThreadKey;
use ars_resident::thread::Binding;
use ars_resident::wire::{EngineView, StatusResponse, engine_view};
use ars_sql::Sql;
use ars_types::UnixMillis;
use futures::FutureExt as _;
use serde::{Deserialize, Serialize};

use super::engine::{Engine, TreeUse};
use crate::{Error, Fault, Host};

/// Shortest interval at which views have trees checked.
const CHECK_INTERVAL_MS: i64 = 4_000;
/// Age from which a check tells nothing: a command's process may have changed the tree.
const CHECK_MAX_AGE_MS: i64 = 300_000;

/// A resident's use, which selects the coldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    /// Last attach, or the onboarding.
    pub last_activity_at: UnixMillis,
    /// The resident's state word.
    pub state: StateWord,
    /// Number of operations in flight.
    pub in_flight: u32,
    /// Unsaved work in the threads' trees.
    pub trees: TreesState,
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Returns state and reason.
    pub(super) fn status(&self) -> Result<StatusResponse, Fault> {
        let (state, reason) = self.store.lifecycle()?.status();
        Ok(StatusResponse { state, reason })
    }

    /// Returns the administrators' view.
    ///
    /// Trees without a known check are checked afterwards, for a later view.
    pub(super) fn view(self: &Rc<Self>) -> Result<EngineView, Error> {
        let record = self.require_record()?;
        let (lifecycle, bindings) = (self.store.lifecycle()?, self.store.bindings()?);
        let mut view = engine_view(
            &record,
            &lifecycle,
            &bindings,
            self.busy()?,
            self.store.disk()?,
        );
        view.attach_ms = self.store.attaches()?;
        view.has_spare = self.live.borrow().spare.is_some();
        view.last_checkpoint_at = self.store.last_checkpoint_at()?;
        for row in &mut view.threads {
            row.checkpoint = self.store.last_checkpoint(&row.thread_key)?;
            if row.evicted {
                continue;
            }
            row.dirty = self.known_unsaved(&row.thread_key);
            let TreeUse {
                used_at,
                checked_at,
                ..
            } = self.tree_use(&row.thread_key);
            // An earlier instance may have used the tree since the attach.
            row.unchecked_since = row
                .dirty
                .is_none()
                .then(|| used_at.or(checked_at).unwrap_or(row.last_attach_at));
        }
        self.check_soon(bindings);
        Ok(view)
    }

    /// Returns whether a tree has unsaved work, if that is known.
    fn known_unsaved(&self, thread: &StrictThreadKey) -> Option<bool> {
        let TreeUse {
            unsaved,
            checked_at,
            ..
        } = self.tree_use(thread);
        unsaved.filter(|_| checked_at.is_some_and(|at| self.host.now() - at < CHECK_MAX_AGE_MS))
    }

    /// Checks trees without a known check in the background, unless they are in use.
    fn check_soon(self: &Rc<Self>, mut bindings: Vec<Binding>) {
        bindings.retain(|binding| {
            let thread = &binding.thread_key;
            !binding.is_evicted()
                && self.known_unsaved(thread).is_none()
                && self.in_flight_of(thread) == 0
        });
        let now = self.host.now();
        let mut live = self.live.borrow_mut();
        if bindings.is_empty() || live.is_checking || live.next_check_at > now {
            return;
        }
        live.is_checking = true;
        live.next_check_at = now + CHECK_INTERVAL_MS;
        drop(live);
        let engine = Rc::clone(self);
        self.host.spawn(
            async move {
                for binding in bindings {
                    // A use since the view may have begun.
                    if engine.in_flight_of(&binding.thread_key) == 0 {
                        engine.check_tree(&binding).await;
                    }
                }
                engine.live.borrow_mut().is_checking = false;
            }
            .boxed_local(),
        );
    }

    /// Counts operations in flight, and the refresh past the gate.
    fn busy(&self) -> Result<u32, Fault> {
        let is_refreshing = self.state()? == StateWord::Refreshing;
        Ok(self.in_flight().saturating_add(u32::from(is_refreshing)))
    }

    /// Returns how the resident was used.
    pub(super) async fn activity(self: &Rc<Self>) -> Result<Activity, Error> {
        let record = self.require_record()?;
        let last_attach_at = self
            .store
            .bindings()?
            .first()
            .map(|binding| binding.last_attach_at);
        Ok(Activity {
            last_activity_at: last_attach_at.unwrap_or_default().max(record.onboarded_at),
            state: self.state()?,
            in_flight: self.busy()?,
            trees: self.trees_state().await,
        })
    }
}
