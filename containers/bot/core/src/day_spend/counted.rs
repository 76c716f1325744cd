//! The day's recorded cost over all runs, and other processes' reservations by ledger row.

use std::{collections::HashMap, time::Duration};

use ars_bot_ports::{RunStore, StoreError, StoreErrorKind};
use ars_runs::StoredRun;
use ars_types::{RunId, UnixMillis};
use ars_wire::{Moment, ledger::LiveRun, runs::ListRequest};
use tokio::time::Instant;

use super::{DaySpend, Own, SpendSources};
use crate::live::{Live, Meta};
use ars_agent::run_end::RECORD_RETRY_TIMEOUT;

/// A day in milliseconds.
pub(super) const DAY_MS: i64 = 86_400_000;
/// Records per request: the list maximum.
const PAGE: u32 = 200;
/// Allowance for a record's retries and clock skew.
const SLACK_MS: i64 = 120_000;
/// Overlap between two successive queries. A record keeps the run's finish time even if it is
/// written late, after an outage as late as retries allow.
const OVERLAP_MS: i64 = RECORD_RETRY_TIMEOUT.as_millis() as i64 + SLACK_MS;
/// How long the ledger rows are cached. Each is as large as a prompt, and 200 runs may start at
/// once. A failed store is not queried again for the same time: all waiting requests receive the
/// same failure.
pub(super) const ANSWER_KEPT: Duration = Duration::from_secs(2);

/// The day's sum from the store, and other processes' reservations from the ledger.
#[derive(Default)]
pub(super) struct Counted {
    /// Start of the counted day.
    pub(super) day: UnixMillis,
    pub(super) microusd: u64,
    /// Cost by run id.
    runs: HashMap<String, u64>,
    asked_to: UnixMillis,
    held_by_others: Option<HeldByOthers>,
    failed: Option<Failed>,
}

/// Reservations held by runs that have none in this process.
#[derive(Debug, Clone, Copy)]
struct HeldByOthers {
    microusd: u64,
    /// Monotonic, because a wall clock that is set back would extend the cache.
    asked_at: Instant,
}

/// The store did not answer.
struct Failed {
    error: StoreError,
    at: Instant,
}

impl Counted {
    /// Queries the changes since the last query, unless that failed a moment ago.
    pub(super) async fn update(
        &mut self,
        sources: &SpendSources<'_>,
        spend: &DaySpend,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        if let Some(failed) = self
            .failed
            .as_ref()
            .filter(|failed| failed.at.elapsed() < ANSWER_KEPT)
        {
            return Err(failed.error.clone());
        }
        let result = self.ask(sources, spend, now).await;
        self.failed = result.as_ref().err().map(|error| Failed {
            error: error.clone(),
            at: Instant::now(),
        });
        result
    }

    /// Returns the reservations held by runs that have none in this process.
    pub(super) fn held_by_others(&self) -> u64 {
        self.held_by_others.map_or(0, |held| held.microusd)
    }

    /// Drops the cached rows if this process gave up a run since they were read; returns whether it did.
    /// The rows skipped that run while it was reserved here, so it would not be counted at all.
    pub(super) fn forget_stale_rows(&mut self, own: &mut Own) -> bool {
        let is_given_up = std::mem::take(&mut own.is_given_up);
        if is_given_up {
            self.held_by_others = None;
        }
        is_given_up
    }

    async fn ask(
        &mut self,
        sources: &SpendSources<'_>,
        spend: &DaySpend,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let day = day_of(now);
        if day != self.day {
            *self = Self {
                day,
                asked_to: day,
                ..Self::default()
            };
        }
        self.forget_stale_rows(&mut spend.own());
        // Before the records: a run that ends in between is counted twice rather than not at all.
        if let Some(live) = sources.live {
            self.ask_others(live, spend).await?;
        }
        self.ask_recorded(sources.store, now).await
    }

    async fn ask_others(&mut self, live: &Live, spend: &DaySpend) -> Result<(), StoreError> {
        self.held_by_others = self
            .held_by_others
            .filter(|held| held.asked_at.elapsed() < ANSWER_KEPT);
        if self.held_by_others.is_some() {
            return Ok(());
        }
        let asked_at = Instant::now();
        let rows = match live.ledger().live().await {
            Err(error) if error.kind == StoreErrorKind::RouteMissing => Vec::new(),
            rows => rows?,
        };
        // Includes a run that this process owns by row but gave up or never knew, and a run that
        // ended here although another process owns it.
        let is_over = |run: &RunId| spend.has_settled(run) || self.runs.contains_key(run.as_str());
        let is_counted = |row: &LiveRun| {
            spend.holds_for(&row.run_id)
                || (row.owner_gen == *live.generation() && is_over(&row.run_id))
        };
        let others = rows.iter().filter(|row| !is_counted(row));
        // A row without a reservation was started without a day's cap.
        let holds = others.map(|row| {
            Meta::of_row(&row.meta)
                .ok()
                .and_then(|meta| meta.hold)
                .unwrap_or(u64::MAX)
        });
        let microusd = holds.fold(0, u64::saturating_add);
        self.held_by_others = Some(HeldByOthers { microusd, asked_at });
        Ok(())
    }

    async fn ask_recorded(
        &mut self,
        store: &dyn RunStore,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let since = self.day.max(self.asked_to - OVERLAP_MS);
        let mut request = ListRequest {
            limit: Some(PAGE),
            since_ms: Some(Moment::from(since)),
            diagnosis: Some(false),
            ..ListRequest::default()
        };
        loop {
            let page = store.list(&request).await?;
            for item in &page.items {
                if let Some(cost) = cost_in(item) {
                    self.count(item.id.as_str(), cost);
                }
            }
            let Some(next) = page.next_before else { break };
            request.before = Some(next.finished_at);
            request.before_id = Some(next.id);
        }
        self.asked_to = now;
        Ok(())
    }

    /// A run's cost only grows, so a smaller value is older.
    pub(super) fn count(&mut self, run: &str, cost: u64) {
        let known = self.runs.entry(run.to_owned()).or_default();
        self.microusd = self.microusd.saturating_add(cost.saturating_sub(*known));
        *known = cost.max(*known);
    }
}

/// Returns when the time's day starts.
fn day_of(now: UnixMillis) -> UnixMillis {
    now - now.rem_euclid(DAY_MS)
}

/// Returns a list item's amount, or `None` without a cost or a reservation.
fn cost_in(item: &StoredRun) -> Option<u64> {
    let after = item
        .reflection_micro_usd
        .unwrap_or(0)
        .saturating_add(item.abridge_micro_usd.unwrap_or(0));
    let cost = item.cost_micro_usd.map(|cost| cost.saturating_add(after));
    cost.max(item.held_micro_usd)
}
