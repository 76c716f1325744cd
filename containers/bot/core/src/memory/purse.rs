//! What reflections are paid from. The caps of a run and of a day bind them too: what may be spent is asked before the
//! model is, and what was spent becomes part of what the run has cost.

use std::sync::{Mutex, PoisonError};

use ars_types::RunId;
use async_trait::async_trait;

use crate::{context::RunContext, day_spend::Hold, settings::MoneyCaps};

/// What a reflection is paid from.
#[async_trait]
pub trait Purse: Send + Sync {
    /// Whether so much may be spent, in millionths of a dollar.
    async fn may_spend(&self, most: u64) -> bool;

    /// So much was spent.
    fn spent(&self, microusd: u64);
}

/// The purse of one run that is over.
pub(super) struct OfRun<'a> {
    pub(super) context: &'a RunContext,
    pub(super) run: &'a RunId,
    /// What the run itself has cost, if that is known.
    pub(super) cost: Option<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What may be spent of the day, while nobody knows yet what will be.
    hold: Option<Hold>,
    spent: u64,
}

impl<'a> OfRun<'a> {
    pub(super) fn new(context: &'a RunContext, run: &'a RunId, cost: Option<u64>) -> Self {
        Self { context, run, cost, state: Mutex::default() }
    }

    /// What was spent.
    pub(super) fn total(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).spent
    }

    /// A run of unknown cost has nothing left.
    fn is_within_the_runs_cap(&self, cap: Option<u64>, most: u64) -> bool {
        let sum = self.cost.map(|cost| cost.saturating_add(most));
        cap.is_none_or(|cap| sum.is_some_and(|sum| sum <= cap))
    }
}

#[async_trait]
impl Purse for OfRun<'_> {
    async fn may_spend(&self, most: u64) -> bool {
        let MoneyCaps { run, day } = self.context.settings().money;
        if !self.is_within_the_runs_cap(run, most) {
            return false;
        }
        let Some(day) = day else { return true };
        let now = self.context.clock().now();
        let reserved = self.context.day_spend().reserve(day, Some(most), &self.context.books(), now).await;
        let Some(hold) = reserved.ok().filter(|hold| hold.cap().run_microusd >= most) else { return false };
        self.state.lock().unwrap_or_else(PoisonError::into_inner).hold = Some(hold);
        true
    }

    fn spent(&self, microusd: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.spent = state.spent.saturating_add(microusd);
        if let Some(cost) = self.cost {
            let (sum, now) = (cost.saturating_add(state.spent), self.context.clock().now());
            self.context.day_spend().cost(self.run, sum, now);
        }
        // Only now that it is counted.
        state.hold = None;
    }
}
