//! Guards a reflection's spend: the run and day caps limit it, and the run pays the cost.

use std::sync::{Mutex, PoisonError};

use ars_types::RunId;
use async_trait::async_trait;

use super::SpendGuard;
use crate::{
    context::{RunContext, settings::MoneyCaps},
    day_spend::Hold,
};

/// An ended run's spend guard.
pub(crate) struct RunSpendGuard<'a> {
    pub(super) context: &'a RunContext,
    pub(super) run: &'a RunId,
    /// The run's cost, if known.
    pub(super) cost: Option<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Amount reserved from the day's budget until the cost is known.
    hold: Option<Hold>,
    spent: u64,
}

impl<'a> RunSpendGuard<'a> {
    pub(crate) fn new(context: &'a RunContext, run: &'a RunId, cost: Option<u64>) -> Self {
        Self {
            context,
            run,
            cost,
            state: Mutex::default(),
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .spent
    }

    /// A run with unknown cost has no money left.
    fn is_within_the_runs_cap(&self, cap: Option<u64>, most: u64) -> bool {
        let sum = self.cost.map(|cost| cost.saturating_add(most));
        cap.is_none_or(|cap| sum.is_some_and(|sum| sum <= cap))
    }
}

#[async_trait]
impl SpendGuard for RunSpendGuard<'_> {
    async fn may_spend(&self, most: u64) -> bool {
        let MoneyCaps { run, day } = self.context.settings().money;
        if !self.is_within_the_runs_cap(run, most) {
            return false;
        }
        let Some(day) = day else { return true };
        let now = self.context.clock().now();
        let reserved = self
            .context
            .day_spend()
            .reserve(day, Some(most), &self.context.spend_sources(), now)
            .await;
        let Some(hold) = reserved.ok().filter(|hold| hold.cap().run_microusd >= most) else {
            return false;
        };
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .hold = Some(hold);
        true
    }

    fn spent(&self, microusd: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.spent = state.spent.saturating_add(microusd);
        if let Some(cost) = self.cost {
            let (sum, now) = (cost.saturating_add(state.spent), self.context.clock().now());
            self.context.day_spend().cost(self.run, sum, now);
        }
        // Released after the cost is counted.
        state.hold = None;
    }
}
