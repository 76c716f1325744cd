//! The day's sum over an in-process store.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ars_bot_ports::{StoreError, StoreErrorKind, Stored};
use ars_runs::{RunRecord, StoredRun};
use ars_wire::runs::{EventsPage, ListRequest, ListResponse};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    counted::{ANSWER_KEPT, DAY_MS},
    *,
};
use crate::history::COST;

const NOON: UnixMillis = 100 * DAY_MS + DAY_MS / 2;
const MINUTE: i64 = 60_000;
const CAP: u64 = 10;

/// Lists the records that finished since, like the store.
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
    async fn list(&self, request: &ListRequest) -> Result<ListResponse<StoredRun>, StoreError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.is_down.load(Ordering::SeqCst) {
            return Err(StoreError {
                kind: StoreErrorKind::Transient,
                message: "as scripted".into(),
            });
        }
        let since = request.since_ms.unwrap().rounded();
        let runs = self.runs.lock().unwrap();
        let items = runs.iter().filter(|(_, at, _)| *at >= since);
        let items = items.map(|(id, at, cost)| {
            json!({ "id": id, "channelId": "c", "userId": "u", "status": "completed", "startedAt": at,
                "finishedAt": at, COST: cost })
        });
        let items = items
            .map(|item| serde_json::from_value(item).unwrap())
            .collect();
        Ok(ListResponse {
            items,
            next_before: None,
        })
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
    spend
        .reserve(CAP, None, &SpendSources { store, live: None }, now)
        .await
        .map_or(0, |hold| hold.microusd)
}

#[tokio::test]
async fn late_record_is_counted() {
    let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
    store.add("r1", NOON - 1, 2);
    assert_eq!(left(&spend, &store, NOON).await, 8);
    store.add("r2", NOON - 15 * MINUTE, 3);
    assert_eq!(left(&spend, &store, NOON + MINUTE).await, 5);
}

#[tokio::test]
async fn settled_cost_replaces_the_reservation() {
    let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
    let hold = spend
        .reserve(
            CAP,
            Some(4),
            &SpendSources {
                store: &store,
                live: None,
            },
            NOON,
        )
        .await
        .ok()
        .unwrap();
    assert_eq!(left(&spend, &store, NOON).await, 6);
    hold.settle(&RunId::parse("r1").unwrap(), Some(3), NOON);
    assert_eq!(left(&spend, &store, NOON).await, 7);
    store.add("r1", NOON, 3);
    assert_eq!(left(&spend, &store, NOON).await, 7);
}

#[tokio::test]
async fn later_cost_is_counted_once() {
    let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
    let run = RunId::parse("r1").unwrap();
    spend.cost(&run, 3, NOON);
    assert_eq!(left(&spend, &store, NOON).await, 7);
    spend.cost(&run, 4, NOON);
    assert_eq!(left(&spend, &store, NOON).await, 6);
    // The record comes later, with the older sum.
    store.add("r1", NOON, 3);
    assert_eq!(left(&spend, &store, NOON + MINUTE).await, 6);
    assert_eq!(left(&spend, &store, NOON + DAY_MS).await, CAP);
}

#[tokio::test]
async fn unknown_cost_equals_the_reservation() {
    let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
    let hold = spend.hold(&RunId::parse("r1").unwrap(), MoneyCap { run_microusd: 4 });
    hold.settle(&RunId::parse("r1").unwrap(), None, NOON);
    assert_eq!(left(&spend, &store, NOON).await, 6);
}

#[tokio::test]
async fn new_day_keeps_reservations_only() {
    let (spend, store) = (Arc::<DaySpend>::default(), Recorded::default());
    let hold = spend.hold(&RunId::parse("r1").unwrap(), MoneyCap { run_microusd: 4 });
    spend
        .hold(&RunId::parse("r1").unwrap(), MoneyCap { run_microusd: 5 })
        .settle(&RunId::parse("r1").unwrap(), None, NOON);
    store.add("r2", NOON, 1);
    assert_eq!(left(&spend, &store, NOON).await, 0);
    assert_eq!(left(&spend, &store, NOON + DAY_MS).await, 6);
    drop(hold);
    assert_eq!(left(&spend, &store, NOON + DAY_MS).await, 10);
}

#[tokio::test(start_paused = true)]
async fn failed_query_is_shared_by_waiters() {
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
