//! What all runs of a day (UTC) have cost, held against the day's cap before a run begins.
//!
//! The sum is the store's: every process counts what every process recorded. Each question asks only for what was
//! recorded since the last one. It fails closed: without an answer of the store nothing begins. Not here: the cap of
//! one run, which the loop keeps (`ars_agent::money`).

use std::collections::HashSet;

use ars_agent::money::dollars;
use ars_types::UnixMillis;
use ars_wire::{Moment, runs::ListRequest};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::{
    history::COST,
    ports::{RunStore, StoreError},
};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Records asked for at once: the most a list gives (document 2 section 8).
const PAGE: u32 = 200;
/// How far back each question overlaps with the one before: a record may be written a while after its run's finish.
const OVERLAP_MS: i64 = 120_000;

/// The day's sum, as far as it was asked for.
#[derive(Default)]
pub(crate) struct DaySpend {
    counted: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    /// The start of the day that is counted.
    day: UnixMillis,
    microusd: u64,
    runs: HashSet<String>,
    asked_to: UnixMillis,
}

impl DaySpend {
    /// Micro-dollars left of the day's cap. An `Err` is what the requester is told.
    pub(crate) async fn left(&self, cap: u64, store: &dyn RunStore, now: UnixMillis) -> Result<u64, String> {
        let mut counted = self.counted.lock().await;
        if let Err(error) = counted.update(store, now).await {
            tracing::error!(error = %error, "the day's costs are not known: nothing begins");
            return Err(
                "💸 What today's runs have cost is not known at the moment, so none is begun.".to_owned()
            );
        }
        match cap.checked_sub(counted.microusd) {
            Some(left) if left > 0 => Ok(left),
            _ => Err(format!("💸 Today's budget of {} is used up. Ask again tomorrow (UTC).", dollars(cap))),
        }
    }
}

impl Counted {
    async fn update(&mut self, store: &dyn RunStore, now: UnixMillis) -> Result<(), StoreError> {
        let day = now - now.rem_euclid(DAY_MS);
        if day != self.day {
            *self = Self { day, asked_to: day, ..Self::default() };
        }
        let since = day.max(self.asked_to - OVERLAP_MS);
        let mut request =
            ListRequest { limit: Some(PAGE), since_ms: Some(Moment::from(since)), ..ListRequest::default() };
        loop {
            let page = store.list(&request).await?;
            page.items.iter().for_each(|item| self.count(item));
            let Some(next) = page.next_before else { break };
            request.before = Some(next.finished_at);
            request.before_id = Some(next.id);
        }
        self.asked_to = now;
        Ok(())
    }

    fn count(&mut self, item: &Value) {
        let (Some(id), Some(cost)) = (item["id"].as_str(), item[COST].as_u64()) else { return };
        if self.runs.insert(id.to_owned()) {
            self.microusd = self.microusd.saturating_add(cost);
        }
    }
}
