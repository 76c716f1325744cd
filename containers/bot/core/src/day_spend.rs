//! The day's budget (UTC) of all runs: recorded cost, and reservations of live runs.
//!
//! The store sums the recorded cost of every process. Each query asks only for the records since the last one. A live
//! run reserves its own cap until its cost is known, so that concurrent runs share the rest of the budget.
//! Reservations of this process are known here, those of another process (during a deploy) by their rows in the
//! ledger. The cache of these rows and the delay of a claim let two processes together exceed the cap by the runs that
//! both start within seven seconds, and by runs that started during an outage of the ledger. It fails closed: without
//! an answer of the store no run starts, and a run of unknown cost has cost its whole reservation. The cost that a dead
//! process had not stored is not counted. Not here: the cap of one run, which the loop enforces (`ars_agent::money`).

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

/// The sources of recorded and reserved cost.
pub(crate) struct SpendSources<'a> {
    /// The records.
    pub(crate) store: &'a dyn RunStore,
    /// The live runs of every process, with a ledger.
    pub(crate) live: Option<&'a Live>,
}

/// The day's sum as of the last query, and the reservations of this process.
#[derive(Default)]
pub(crate) struct DaySpend {
    /// Locked during a query of the store.
    counted: Mutex<Counted>,
    own: Lock<Own>,
}

/// Runs of this process.
#[derive(Default)]
struct Own {
    /// The sum of reservations.
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

    /// Reserves the amount of another process's run regardless of the budget, which allowed it already.
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

    /// Records the total cost of an ended run.
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

    /// Returns whether the cost of a run is recorded here and not yet in the sum.
    fn has_settled(&self, run: &RunId) -> bool {
        self.own().ended.iter().any(|ended| ended.run == *run)
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
