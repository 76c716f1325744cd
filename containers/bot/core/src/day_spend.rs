//! What all runs of a day (UTC) cost, held against the day's cap: what is recorded, and what runs under way may spend.
//!
//! The sum of what is recorded is the store's: every process counts what every process recorded. Each question asks
//! only for what may have been recorded since the last one. A run under way holds its own cap until its cost is known,
//! so that runs begun together share what is left instead of each having all of it. Those of this process are known
//! here; those of another one, as there is during a deploy, by what their rows in the ledger say. A row is read up to
//! [`ANSWER_KEPT`] before a run begins by it, and it is there up to `CLAIM_PATIENCE` (`live`) after its run has its hold:
//! two processes can together exceed the cap by what both begin within seven seconds, and by a run that went on without
//! the ledger's answer to its claim for as long as the ledger has none. It fails closed: without an answer of the store
//! nothing begins, and a run that is closed without all of its cost being known has cost what it held. Of a run that
//! goes on after its process died, what that process had not stored yet is not known to anybody and not counted. Not
//! here: the cap of one run, which the loop keeps (`ars_agent::money`).

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex as Lock, MutexGuard, PoisonError},
    time::Duration,
};

use ars_agent::money::{MoneyCap, dollars};
use ars_runs::{HELD, REFLECTION_COST};
use ars_types::{RunId, UnixMillis};
use ars_wire::{Moment, ledger::LiveRun, runs::ListRequest};
use serde_json::Value;
use tokio::{sync::Mutex, time::Instant};

use crate::{
    history::{COST, MAKE_UP_FOR},
    live::{Live, Meta},
    ports::{RunStore, StoreError, StoreErrorKind},
};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
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
const ANSWER_KEPT: Duration = Duration::from_secs(2);

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

#[derive(Default)]
struct Counted {
    /// The start of the day that is counted.
    day: UnixMillis,
    microusd: u64,
    /// Of each run.
    runs: HashMap<String, u64>,
    asked_to: UnixMillis,
    elsewhere: Option<Elsewhere>,
    failed: Option<Failed>,
}

/// What runs hold that this process holds nothing for.
#[derive(Debug, Clone, Copy)]
struct Elsewhere {
    microusd: u64,
    /// Not by the wall clock: one that is set back would keep it for longer.
    asked_at: Instant,
}

/// That a store did not answer.
struct Failed {
    error: StoreError,
    at: Instant,
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

/// What one run may spend of a day, held until it is settled or dropped.
pub struct Hold {
    spend: Arc<DaySpend>,
    microusd: u64,
    run: Option<RunId>,
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
            let own = self.own();
            // One that was given up meanwhile is held by nobody, and was not counted by its row.
            if !own.is_given_up {
                break own;
            }
        };
        let today = counted.day;
        for ended in own.ended.drain(..).filter(|ended| ended.at >= today) {
            counted.count(ended.run.as_str(), ended.microusd);
        }
        let unspent = cap.saturating_sub(counted.microusd);
        let elsewhere = counted.elsewhere.map_or(0, |elsewhere| elsewhere.microusd);
        let left = unspent.saturating_sub(own.held).saturating_sub(elsewhere);
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

impl Hold {
    /// The most that its run may cost.
    pub(crate) fn cap(&self) -> MoneyCap {
        MoneyCap { run_microusd: self.microusd }
    }

    /// From now on it is held for this run, which the ledger may list.
    pub(crate) fn be_for(&mut self, run: &RunId) {
        let mut own = self.spend.own();
        if let Some(before) = self.run.replace(run.clone()) {
            own.runs.remove(&before);
        }
        own.runs.insert(run.clone());
    }

    /// The run is over: its cost takes the place of what was held, whether its record comes to be written or not.
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

impl Counted {
    async fn update(
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

    async fn ask(&mut self, books: &Books<'_>, spend: &DaySpend, now: UnixMillis) -> Result<(), StoreError> {
        let day = day_of(now);
        if day != self.day {
            *self = Self { day, asked_to: day, ..Self::default() };
        }
        if std::mem::take(&mut spend.own().is_given_up) {
            self.elsewhere = None;
        }
        // Before the records: a run that ends meanwhile is rather counted twice than not at all.
        if let Some(live) = books.live {
            self.ask_elsewhere(live, spend).await?;
        }
        self.ask_recorded(books.store, now).await
    }

    async fn ask_elsewhere(&mut self, live: &Live, spend: &DaySpend) -> Result<(), StoreError> {
        self.elsewhere = self.elsewhere.filter(|elsewhere| elsewhere.asked_at.elapsed() < ANSWER_KEPT);
        if self.elsewhere.is_some() {
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
        self.elsewhere = Some(Elsewhere { microusd, asked_at });
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
    fn count(&mut self, run: &str, cost: u64) {
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
    cost.max(item[HELD].as_u64())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use ars_runs::RunRecord;
    use ars_wire::runs::{EventsPage, ListResponse};
    use async_trait::async_trait;
    use serde_json::json;

    use super::*;
    use crate::ports::Stored;

    const NOON: UnixMillis = 100 * DAY_MS + DAY_MS / 2;
    const MINUTE: i64 = 60_000;
    const CAP: u64 = 10;

    /// Lists what was recorded, as the store does: what finished since.
    #[derive(Default)]
    struct Recorded {
        runs: Lock<Vec<(&'static str, UnixMillis, u64)>>,
        is_down: AtomicBool,
        asked: AtomicU32,
    }

    impl Recorded {
        fn add(&self, run: &'static str, finished_at: UnixMillis, cost: u64) {
            self.runs.lock().unwrap().push((run, finished_at, cost));
        }
    }

    #[async_trait]
    impl RunStore for Recorded {
        async fn list(&self, request: &ListRequest) -> Result<ListResponse, StoreError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if self.is_down.load(Ordering::SeqCst) {
                return Err(StoreError { kind: StoreErrorKind::Transient, message: "as scripted".into() });
            }
            let since = request.since_ms.unwrap().rounded();
            let runs = self.runs.lock().unwrap();
            let items = runs.iter().filter(|(_, at, _)| *at >= since);
            let items = items.map(|(id, _, cost)| json!({ "id": id, COST: cost })).collect();
            Ok(ListResponse { items, next_before: None })
        }

        async fn put(&self, _: &RunRecord) -> Result<Stored, StoreError> {
            unreachable!("only lists are asked for")
        }
        async fn get(&self, _: &RunId) -> Result<Option<RunRecord>, StoreError> {
            unreachable!("only lists are asked for")
        }
        async fn summary(&self, _: &RunId) -> Result<Option<Value>, StoreError> {
            unreachable!("only lists are asked for")
        }
        async fn delete(&self, _: &RunId) -> Result<bool, StoreError> {
            unreachable!("only lists are asked for")
        }
        async fn events(&self, _: &RunId, _: u64, _: u32) -> Result<Option<EventsPage>, StoreError> {
            unreachable!("only lists are asked for")
        }
    }

    async fn left(spend: &Arc<DaySpend>, store: &Recorded, now: UnixMillis) -> u64 {
        spend.reserve(CAP, None, &Books { store, live: None }, now).await.map_or(0, |hold| hold.microusd)
    }

    #[tokio::test]
    async fn a_record_that_is_made_up_for_is_counted_however_long_ago_its_run_finished() {
        let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
        store.add("r1", NOON - 1, 2);
        assert_eq!(left(&spend, &store, NOON).await, 8);
        store.add("r2", NOON - 15 * MINUTE, 3);
        assert_eq!(left(&spend, &store, NOON + MINUTE).await, 5);
    }

    #[tokio::test]
    async fn what_a_run_cost_takes_the_place_of_what_it_held_and_is_counted_once() {
        let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
        let hold =
            spend.reserve(CAP, Some(4), &Books { store: &store, live: None }, NOON).await.ok().unwrap();
        assert_eq!(left(&spend, &store, NOON).await, 6);
        hold.settle(&RunId::parse("r1").unwrap(), Some(3), NOON);
        assert_eq!(left(&spend, &store, NOON).await, 7);
        store.add("r1", NOON, 3);
        assert_eq!(left(&spend, &store, NOON).await, 7);
    }

    #[tokio::test]
    async fn what_a_run_cost_afterwards_is_counted_once_and_of_its_day_only() {
        let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
        let run = RunId::parse("r1").unwrap();
        spend.cost(&run, 3, NOON);
        assert_eq!(left(&spend, &store, NOON).await, 7);
        spend.cost(&run, 4, NOON);
        assert_eq!(left(&spend, &store, NOON).await, 6);
        // Its record comes later, and has the older sum.
        store.add("r1", NOON, 3);
        assert_eq!(left(&spend, &store, NOON + MINUTE).await, 6);
        assert_eq!(left(&spend, &store, NOON + DAY_MS).await, CAP);
    }

    #[tokio::test]
    async fn a_run_of_unknown_cost_has_cost_all_it_held() {
        let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
        let hold = spend.hold(&RunId::parse("r1").unwrap(), MoneyCap { run_microusd: 4 });
        hold.settle(&RunId::parse("r1").unwrap(), None, NOON);
        assert_eq!(left(&spend, &store, NOON).await, 6);
    }

    #[tokio::test]
    async fn a_new_day_begins_with_what_runs_under_way_hold_and_no_more() {
        let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
        let hold = spend.hold(&RunId::parse("r1").unwrap(), MoneyCap { run_microusd: 4 });
        spend.hold(&RunId::parse("r1").unwrap(), MoneyCap { run_microusd: 5 }).settle(
            &RunId::parse("r1").unwrap(),
            None,
            NOON,
        );
        store.add("r2", NOON, 1);
        assert_eq!(left(&spend, &store, NOON).await, 0);
        assert_eq!(left(&spend, &store, NOON + DAY_MS).await, 6);
        drop(hold);
        assert_eq!(left(&spend, &store, NOON + DAY_MS).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_fails_is_not_asked_again_by_each_of_those_who_waited() {
        let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
        store.is_down.store(true, Ordering::SeqCst);
        for _ in 0..3 {
            assert_eq!(left(&spend, &store, NOON).await, 0);
        }
        assert_eq!(store.asked.load(Ordering::SeqCst), 1);
        store.is_down.store(false, Ordering::SeqCst);
        tokio::time::advance(ANSWER_KEPT).await;
        assert_eq!(left(&spend, &store, NOON).await, CAP);
    }
}
