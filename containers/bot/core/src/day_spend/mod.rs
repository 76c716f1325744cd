//! What all runs of a day (UTC) cost, held against the day's cap: what is recorded, and what runs under way may spend.
//!
//! The sum of what is recorded is the store's: every process counts what every process recorded. Each question asks
//! only for what may have been recorded since the last one. A run under way holds its own cap until its cost is known,
//! so that runs begun together share what is left instead of each having all of it. Those of this process are known
//! here; those of another one, as there is during a deploy, by what their rows in the ledger say. A row is read up to
//! `ANSWER_KEPT` (`counted.rs`) before a run begins by it, and it is there up to `CLAIM_PATIENCE` (`live`) after its
//! run has its hold: two processes can together exceed the cap by what both begin within seven seconds, and by a run
//! that went on without the ledger's answer to its claim for as long as the ledger has none. It fails closed: without
//! an answer of the store nothing begins, and a run that is closed without all of its cost being known has cost what it
//! held. Of a run that goes on after its process died, what that process had not stored yet is not known to anybody and
//! not counted. Not here: the cap of one run, which the loop keeps (`ars_agent::money`).

mod counted;
mod hold;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex as Lock, MutexGuard, PoisonError},
};

use ars_agent::money::{MoneyCap, dollars};
use ars_bot_ports::RunStore;
use ars_types::{RunId, UnixMillis};
use tokio::sync::Mutex;

use self::counted::Counted;
pub use self::hold::Hold;
use crate::live::Live;

/// Where it stands what runs have cost and may cost.
pub(crate) struct Books<'a> {
    /// The records.
    pub(crate) store: &'a dyn RunStore,
    /// The live runs of every process, where there is a ledger.
    pub(crate) live: Option<&'a Live>,
}

/// The day's sum, as far as it was asked for, and what is held of the rest.
#[derive(Default)]
pub(crate) struct DaySpend {
    /// Locked while the store is asked.
    counted: Mutex<Counted>,
    own: Lock<Own>,
}

/// Runs of this process.
#[derive(Default)]
struct Own {
    /// What those under way may spend.
    held: u64,
    /// Those of them that the ledger may list.
    runs: HashSet<RunId>,
    /// One of those was given up since the ledger's rows were read: they tell what it holds now.
    is_given_up: bool,
    /// Those that ended, or cost more afterwards, since the last question. Their records may not say so yet, or never.
    ended: Vec<Ended>,
}

struct Ended {
    run: RunId,
    at: UnixMillis,
    microusd: u64,
}

impl DaySpend {
    /// Holds what is left of the day's cap, or `run_cap` where that is less. An `Err` is what the requester is told.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        cap: u64,
        run_cap: Option<u64>,
        books: &Books<'_>,
        now: UnixMillis,
    ) -> Result<Hold, String> {
        let mut counted = self.counted.lock().await;
        let mut own = loop {
            if let Err(error) = counted.update(books, self, now).await {
                tracing::error!(error = %error, "the day's costs are not known: nothing begins");
                return Err(
                    "💸 What today's runs have cost is not known at the moment, so none is begun.".to_owned()
                );
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
        let left = unspent.saturating_sub(own.held).saturating_sub(counted.held_by_others());
        if left == 0 {
            let cap = dollars(cap);
            return Err(match unspent {
                0 => format!("💸 Today's budget of {cap} is used up. Ask again tomorrow (UTC)."),
                _ => format!(
                    "💸 What is left of today's budget of {cap} is held by runs under way. Ask again when they are over."
                ),
            });
        }
        let microusd = run_cap.unwrap_or(left).min(left);
        own.held = own.held.saturating_add(microusd);
        drop(own);
        Ok(Hold { spend: Arc::clone(self), microusd, run: None })
    }

    /// Holds what a run that another process began may spend, whatever is left: it was allowed to.
    pub(crate) fn hold(self: &Arc<Self>, run: &RunId, cap: MoneyCap) -> Hold {
        let mut own = self.own();
        own.held = own.held.saturating_add(cap.run_microusd);
        drop(own);
        let mut hold = Hold { spend: Arc::clone(self), microusd: cap.run_microusd, run: None };
        hold.be_for(run);
        hold
    }

    /// A run that is over cost so much in all.
    pub(crate) fn cost(&self, run: &RunId, microusd: u64, at: UnixMillis) {
        self.own().ended.push(Ended { run: run.clone(), at, microusd });
    }

    /// Whether this process holds something for a run.
    fn holds_for(&self, run: &RunId) -> bool {
        self.own().runs.contains(run)
    }

    /// Whether it has counted what a run cost, but for the sum.
    fn has_settled(&self, run: &RunId) -> bool {
        self.own().ended.iter().any(|ended| ended.run == *run)
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
