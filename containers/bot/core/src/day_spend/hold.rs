//! A run's reservation in the day's budget.

use std::sync::Arc;

use ars_agent::money::MoneyCap;
use ars_types::{RunId, UnixMillis};

use super::DaySpend;

/// An amount reserved for a run until it is settled or dropped.
pub struct Hold {
    pub(super) spend: Arc<DaySpend>,
    pub(super) microusd: u64,
    pub(super) run: Option<RunId>,
}

impl Hold {
    /// Returns the run's maximum cost.
    pub(crate) fn cap(&self) -> MoneyCap {
        MoneyCap {
            run_microusd: self.microusd,
        }
    }

    /// Assigns the reservation to a run, which the ledger may list from now on.
    pub(crate) fn assign(&mut self, run: &RunId) {
        let mut own = self.spend.own();
        if let Some(before) = self.run.replace(run.clone()) {
            own.runs.remove(&before);
        }
        own.runs.insert(run.clone());
    }

    /// Replaces the reservation with the ended run's cost, whether the record is written or not.
    pub(crate) fn settle(mut self, run: &RunId, cost: Option<u64>, at: UnixMillis) {
        self.spend.cost(run, cost.unwrap_or(self.microusd), at);
        if let Some(run) = self.run.take() {
            self.spend.own().runs.remove(&run);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut own = self.spend.own();
        own.held = own.held.saturating_sub(self.microusd);
        if let Some(run) = &self.run {
            own.runs.remove(run);
            own.is_given_up = true;
        }
    }
}
