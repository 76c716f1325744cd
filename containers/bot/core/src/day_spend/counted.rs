//! What a day's runs have cost by the store, and what others hold by the ledger's rows.

use std::{collections::HashMap, time::Duration};

use ars_bot_ports::{RunStore, StoreError, StoreErrorKind};
use ars_runs::{REFLECTION_COST, RESERVED_COST};
use ars_types::{RunId, UnixMillis};
use ars_wire::{Moment, ledger::LiveRun, runs::ListRequest};
use serde_json::Value;
use tokio::time::Instant;

use super::{Books, DaySpend, Own};
use crate::{
    history::{COST, MAKE_UP_FOR},
    live::{Live, Meta},
};

/// Milliseconds of a day.
pub(super) const DAY_MS: i64 = 86_400_000;
/// Records asked for at once: the most a list gives (document 2 section 8).
const PAGE: u32 = 200;
/// A record's own retries, and clocks that differ.
const SLACK_MS: i64 = 120_000;
/// How far back each question overlaps with the one before: a record keeps its run's finish however late it is written,
/// and after an outage that may be as late as it is still made up for.
const OVERLAP_MS: i64 = MAKE_UP_FOR.as_millis() as i64 + SLACK_MS;
/// For how long the ledger's rows are taken as read (state-worker supplement section 11, "ledger reads in listings"):
/// each is as large as a prompt, and 200 runs may begin at once. For as long a store that failed is not asked again:
/// everybody who waited for its answer is told so, instead of each waiting for one of their own.
pub(super) const ANSWER_KEPT: Duration = Duration::from_secs(2);

/// The day's sum as the store tells it, and what the ledger's rows say that others hold.
#[derive(Default)]
pub(super) struct Counted {
    /// The start of the day that is counted.
    pub(super) day: UnixMillis,
    pub(super) microusd: u64,
    /// Of each run.
    runs: HashMap<String, u64>,
    asked_to: UnixMillis,
    held_by_others: Option<HeldByOthers>,
    failed: Option<Failed>,
}

/// What runs hold that this process holds nothing for.
#[derive(Debug, Clone, Copy)]
struct HeldByOthers {
    microusd: u64,
    /// Not by the wall clock: one that is set back would keep it for longer.
    asked_at: Instant,
}

/// That a store did not answer.
struct Failed {
    error: StoreError,
    at: Instant,
}

impl Counted {
    /// Asks for what may have changed since the last question; not when that failed a moment ago.
    pub(super) async fn update(
        &mut self,
        books: &Books<'_>,
        spend: &DaySpend,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        if let Some(failed) = self.failed.as_ref().filter(|failed| failed.at.elapsed() < ANSWER_KEPT) {
            return Err(failed.error.clone());
        }
        let asked = self.ask(books, spend, now).await;
        self.failed = asked.as_ref().err().map(|error| Failed { error: error.clone(), at: Instant::now() });
        asked
    }

    /// What runs hold that this process holds nothing for.
    pub(super) fn held_by_others(&self) -> u64 {
        self.held_by_others.map_or(0, |held| held.microusd)
    }

    /// Has the rows read anew when this process gave up a run since, and tells whether it did: while it held that run,
    /// the run's row was passed over, so that now nobody counts it.
    pub(super) fn forget_stale_rows(&mut self, own: &mut Own) -> bool {
        let is_given_up = std::mem::take(&mut own.is_given_up);
        if is_given_up {
            self.held_by_others = None;
        }
        is_given_up
    }

    async fn ask(&mut self, books: &Books<'_>, spend: &DaySpend, now: UnixMillis) -> Result<(), StoreError> {
        let day = day_of(now);
        if day != self.day {
            *self = Self { day, asked_to: day, ..Self::default() };
        }
        self.forget_stale_rows(&mut spend.own());
        // Before the records: a run that ends meanwhile is rather counted twice than not at all.
        if let Some(live) = books.live {
            self.ask_others(live, spend).await?;
        }
        self.ask_recorded(books.store, now).await
    }

    async fn ask_others(&mut self, live: &Live, spend: &DaySpend) -> Result<(), StoreError> {
        self.held_by_others = self.held_by_others.filter(|held| held.asked_at.elapsed() < ANSWER_KEPT);
        if self.held_by_others.is_some() {
            return Ok(());
        }
        let asked_at = Instant::now();
        let rows = match live.ledger().live().await {
            Err(error) if error.kind == StoreErrorKind::RouteMissing => Vec::new(),
            rows => rows?,
        };
        // Also one that is this process's by its row, and that it has given up or was never told of; and one that ended
        // here and is another's all the same.
        let is_over = |run: &RunId| spend.has_settled(run) || self.runs.contains_key(run.as_str());
        let is_counted = |row: &LiveRun| {
            spend.holds_for(&row.run_id) || (row.owner_gen == *live.generation() && is_over(&row.run_id))
        };
        let others = rows.iter().filter(|row| !is_counted(row));
        // One that does not say what it holds was not bound by the day.
        let holds =
            others.map(|row| Meta::of_row(&row.meta).ok().and_then(|meta| meta.hold).unwrap_or(u64::MAX));
        let microusd = holds.fold(0, u64::saturating_add);
        self.held_by_others = Some(HeldByOthers { microusd, asked_at });
        Ok(())
    }

    async fn ask_recorded(&mut self, store: &dyn RunStore, now: UnixMillis) -> Result<(), StoreError> {
        let since = self.day.max(self.asked_to - OVERLAP_MS);
        let mut request =
            ListRequest { limit: Some(PAGE), since_ms: Some(Moment::from(since)), ..ListRequest::default() };
        loop {
            let page = store.list(&request).await?;
            for item in &page.items {
                if let (Some(run), Some(cost)) = (item["id"].as_str(), cost_in(item)) {
                    self.count(run, cost);
                }
            }
            let Some(next) = page.next_before else { break };
            request.before = Some(next.finished_at);
            request.before_id = Some(next.id);
        }
        self.asked_to = now;
        Ok(())
    }

    /// A run's cost only grows: what is known of it last may be the older word.
    pub(super) fn count(&mut self, run: &str, cost: u64) {
        let known = self.runs.entry(run.to_owned()).or_default();
        self.microusd = self.microusd.saturating_add(cost.saturating_sub(*known));
        *known = cost.max(*known);
    }
}

/// The start of the day of a moment.
fn day_of(now: UnixMillis) -> UnixMillis {
    now - now.rem_euclid(DAY_MS)
}

/// What an item of a list counts; nothing where neither its cost nor a hold is told.
fn cost_in(item: &Value) -> Option<u64> {
    let reflection = item[REFLECTION_COST].as_u64().unwrap_or(0);
    let cost = item[COST].as_u64().map(|cost| cost.saturating_add(reflection));
    cost.max(item[RESERVED_COST].as_u64())
}
