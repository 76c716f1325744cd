//! The day's budget (UTC) for all runs: recorded cost, and live run reservations.
//!
//! The store sums every process's recorded cost. Each query asks only for records since the last
//! query. A live run reserves its own cap until the cost is known, so that concurrent runs share
//! the rest of the budget. This process knows its own reservations, and learns another process's
//! (during a deploy) from the ledger rows. Because these rows are cached and a claim takes time,
//! two processes together can exceed the cap by the runs that both start within seven seconds, and
//! by runs that started during a ledger outage. It fails closed: without a response from the store
//! no run starts, and a run with unknown cost has cost the whole reservation. Cost that a dead
//! process had not stored is not counted. Not here: a single run's cap, which the loop enforces
//! (`ars_agent::money`).

mod counted;
mod hold;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex as Lock, MutexGuard, PoisonError},
};

use ars_agent::money::MoneyCap;
use ars_bot_ports::{Refusal, RunStore};
use ars_types::{RunId, UnixMillis};
use tokio::sync::Mutex;

use self::counted::Counted;
pub use self::hold::Hold;
use crate::live::Live;

/// Sources for recorded and reserved cost.
pub(crate) struct SpendSources<'a> {
    /// Holds the recorded cost.
    pub(crate) store: &'a dyn RunStore,
    /// Every process's live runs, with a ledger.
    pub(crate) live: Option<&'a Live>,
}

/// The day's sum at the last query, and this process's reservations.
#[derive(Default)]
pub(crate) struct DaySpend {
    /// Locked while the store is queried.
    counted: Mutex<Counted>,
    own: Lock<Own>,
}

/// This process's runs.
#[derive(Default)]
struct Own {
    /// Sum of all reservations.
    held: u64,
    /// The reserved runs that the ledger may list.
    runs: HashSet<RunId>,
    /// A reserved run was given up since the ledger's rows were read, so the rows have to be read again.
    is_given_up: bool,
    /// Runs that ended or cost more since the last query; their records may lack the cost, or be lost.
    ended: Vec<Ended>,
}

struct Ended {
    run: RunId,
    at: UnixMillis,
    microusd: u64,
}

impl DaySpend {
    /// Reserves the rest of the day's budget, or `run_cap` if that is less.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        cap: u64,
        run_cap: Option<u64>,
        sources: &SpendSources<'_>,
        now: UnixMillis,
    ) -> Result<Hold, Refusal> {
        let mut counted = self.counted.lock().await;
        let mut own = loop {
            if let Err(error) = counted.update(sources, self, now).await {
                tracing::error!(error = %error, "day's spend unknown: new runs are rejected");
                return Err(Refusal::SpendUnknown);
            }
            let mut own = self.own();
            if !counted.forget_stale_rows(&mut own) {
                break own;
            }
        };
        let today = counted.day;
        for ended in own.ended.drain(..).filter(|ended| ended.at >= today) {
            counted.count(ended.run.as_str(), ended.microusd);
        }
        let unspent = cap.saturating_sub(counted.microusd);
        let left = unspent
            .saturating_sub(own.held)
            .saturating_sub(counted.held_by_others());
        if left == 0 {
            return Err(match unspent {
                0 => Refusal::BudgetSpent { cap },
                _ => Refusal::BudgetReserved { cap },
            });
        }
        let microusd = run_cap.unwrap_or(left).min(left);
        own.held = own.held.saturating_add(microusd);
        drop(own);
        Ok(Hold {
            spend: Arc::clone(self),
            microusd,
            run: None,
        })
    }

    /// Reserves the amount for another process's run, even beyond the budget, which allowed it
    /// already.
    pub(crate) fn hold(self: &Arc<Self>, run: &RunId, cap: MoneyCap) -> Hold {
        let mut own = self.own();
        own.held = own.held.saturating_add(cap.run_microusd);
        drop(own);
        let mut hold = Hold {
            spend: Arc::clone(self),
            microusd: cap.run_microusd,
            run: None,
        };
        hold.assign(run);
        hold
    }

    /// Records an ended run's total cost.
    pub(crate) fn cost(&self, run: &RunId, microusd: u64, at: UnixMillis) {
        self.own().ended.push(Ended {
            run: run.clone(),
            at,
            microusd,
        });
    }

    /// Returns whether this process has a reservation for a run.
    fn holds_for(&self, run: &RunId) -> bool {
        self.own().runs.contains(run)
    }

    /// Returns whether a run's cost is recorded here and not yet in the sum.
    fn has_settled(&self, run: &RunId) -> bool {
        self.own().ended.iter().any(|ended| ended.run == *run)
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
