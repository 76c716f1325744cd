//! A store behind either adapter, a clock that stands still, and records.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use ars_auth::Secret;
use ars_bot_adapters::stores::{EmbeddedRunStore, Proposal, WorkerRunStore};
use ars_bot_core::ports::{Clock, RunStore};
use ars_runs::RunRecord;
use ars_types::RunId;
use serde_json::json;
use tempfile::TempDir;

use crate::state_worker::StateWorker;

pub const NOW: i64 = 1_700_000_000_000;
pub const DAY: i64 = 86_400_000;

/// A clock that moves when told to.
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn at(now: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(now)))
    }

    pub fn set(&self, now: i64) {
        self.0.store(now, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A store, and what it stands on for as long as it is used.
pub struct Fixture {
    pub store: Arc<dyn RunStore>,
    pub clock: Arc<ManualClock>,
    _ground: Box<dyn std::any::Any + Send>,
}

pub fn embedded(proposal: Option<Proposal>) -> Fixture {
    let folder = TempDir::new().unwrap();
    let clock = ManualClock::at(NOW);
    let store = EmbeddedRunStore::open(folder.path(), clock.clone(), proposal).unwrap();
    Fixture { store: Arc::new(store), clock, _ground: Box::new(folder) }
}

pub async fn worker(proposal: Option<Proposal>) -> Fixture {
    let clock = ManualClock::at(NOW);
    let server = StateWorker::start("the token", clock.clone()).await;
    let store = WorkerRunStore::connect(&server.url, &secret("the token"), proposal).unwrap();
    Fixture { store: Arc::new(store), clock, _ground: Box::new(server) }
}

pub fn secret(text: &str) -> Secret {
    Secret::parse(Some(text.to_owned())).unwrap()
}

pub fn run(id: &str) -> RunId {
    RunId::parse(id).unwrap()
}

pub fn record(id: &str, finished_at: i64) -> RunRecord {
    RunRecord::from_stored(json!({
        "id": id, "label": "a run", "agent": "coding", "channelId": "C1", "userId": "U1", "threadKey": "t:C1:1",
        "channelVisibility": "machine", "startedAt": finished_at - 10, "finishedAt": finished_at,
        "status": "completed", "eventCount": 3, "storedEventCount": 3, "truncated": false,
        "events": [{ "type": "input", "text": "hello 🦀", "seq": 1 }, { "type": "of a later age", "x": [1], "seq": 2 },
                   { "type": "answer", "text": "done\u{0}", "seq": 5 }],
        "diagnosis": { "findings": [], "eventCount": 1, "verdict": "fine", "byCategory": {} },
        "later": { "kept": true },
    }))
    .unwrap()
}
