//! What a resident reports about itself, from stored values.

use std::rc::Rc;

use ars_resident::lifecycle::{StateWord, TreesState};
use ars_resident::wire::{EngineView, StatusAnswer, engine_view};
use ars_sql::Sql;
use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};

use super::engine::Engine;
use crate::{Error, Fault, Host};

/// The use of a resident, by which the coldest one is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    /// Last attach, or the onboarding.
    pub last_activity_at: UnixMillis,
    /// State.
    pub state: StateWord,
    /// Operations in flight.
    pub in_flight: u32,
    /// Unsaved work.
    pub trees: TreesState,
}

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Returns state and reason.
    pub(super) fn status(&self) -> Result<StatusAnswer, Fault> {
        let (state, reason) = self.store.lifecycle()?.status();
        Ok(StatusAnswer { state, reason })
    }

    /// Returns the view of administrators.
    pub(super) fn view(&self) -> Result<EngineView, Error> {
        let record = self.require_record()?;
        let (lifecycle, bindings) = (self.store.lifecycle()?, self.store.bindings()?);
        let mut view = engine_view(&record, &lifecycle, &bindings, self.busy()?, self.store.disk()?);
        view.attach_ms = self.store.attaches()?;
        for row in &mut view.threads {
            row.checkpoint = self.store.last_checkpoint(&row.thread_key)?;
            row.dirty = self.live.borrow().unsaved.get(&row.thread_key).copied().filter(|_| !row.evicted);
        }
        Ok(view)
    }

    /// Returns operations in flight, and the refresh past its gate.
    fn busy(&self) -> Result<u32, Fault> {
        let is_refreshing = self.state()? == StateWord::Refreshing;
        Ok(self.in_flight().saturating_add(u32::from(is_refreshing)))
    }

    /// Returns the use of the resident.
    pub(super) async fn activity(self: &Rc<Self>) -> Result<Activity, Error> {
        let record = self.require_record()?;
        let last_attach_at = self.store.bindings()?.first().map(|binding| binding.last_attach_at);
        Ok(Activity {
            last_activity_at: last_attach_at.unwrap_or_default().max(record.onboarded_at),
            state: self.state()?,
            in_flight: self.busy()?,
            trees: self.trees_state().await,
        })
    }
}
