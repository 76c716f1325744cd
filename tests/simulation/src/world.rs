//! The state that survives every process: stores, common time base, fault plan and observations.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use ars_bot_ports::{Checkpoint, Clock as _};
use ars_testkit::NativeState;
use ars_types::RunId;
use ars_wire::state::{MemoryVerb, Route, RunVerb};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::UnboundedSender,
    time::{Duration, Instant},
};

use crate::{
    clock::SimClock,
    evidence::Evidence,
    fault::{Fault, FaultKind, Plan},
    random::Random,
    story::{self, Story},
};

/// The bot's run store.
const STORE: &str = ars_wire::runs::DEFAULT_STORE;
/// Maximum listed memory records.
const MAX_MEMORIES: u32 = 50;
/// Default seed for ids and tokens.
const FIRST_IDS: u64 = 1;

/// A single scenario's world.
pub(crate) struct World {
    pub(crate) story: Story,
    pub(crate) began: Instant,
    pub(crate) store_clock: Arc<SimClock>,
    state: Mutex<NativeState>,
    evidence: Mutex<Evidence>,
    faults: Mutex<Vec<Fault>>,
    calls: AtomicU64,
    outage: Mutex<Option<Outage>>,
    /// Threads with a working tree.
    trees: Mutex<BTreeSet<String>>,
    /// Threads' last checkpoints.
    checkpoints: Mutex<BTreeMap<String, Checkpoint>>,
    /// Whether checkpoints are made. If no trees are lost, they would only be further calls.
    pub(crate) makes_checkpoints: bool,
    /// Requests in flight without a waiting sender.
    pub(crate) late: AtomicU64,
    /// Source for the processes' ids and tokens.
    pub(crate) random: Mutex<Random>,
    orders: UnboundedSender<Order>,
}

#[derive(Clone, Copy)]
struct Outage {
    until: Instant,
    after: bool,
    hangs: bool,
}

/// A fault's request to the director.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// Start a process after a delay.
    Start { idle_ms: u64 },
    /// Requests that a run stops.
    Stop {
        mode: ars_types::StopMode,
        through_eldest: bool,
    },
    /// Send a message to the thread.
    FollowUp { through_eldest: bool },
    /// Start another process concurrently.
    Second,
    /// Replace the oldest process.
    Deploy,
}

/// Whether the stores can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Up,
    Unreachable,
    AnswerLost,
    /// Requests hang until this time and are then lost.
    Hanging {
        until: Instant,
        after: bool,
    },
}

impl World {
    pub(crate) fn new(plan: &Plan, orders: UnboundedSender<Order>) -> Arc<Self> {
        let began = Instant::now();
        Arc::new(Self {
            story: plan.story,
            began,
            store_clock: SimClock::since(began),
            state: Mutex::new(NativeState::new(None)),
            evidence: Mutex::new(Evidence {
                only_kills: plan.only_kills(),
                ..Evidence::default()
            }),
            faults: Mutex::new(plan.faults.clone()),
            calls: AtomicU64::new(0),
            outage: Mutex::default(),
            trees: Mutex::default(),
            checkpoints: Mutex::default(),
            makes_checkpoints: plan
                .faults
                .iter()
                .any(|fault| fault.kind == FaultKind::LoseTrees),
            late: AtomicU64::new(0),
            random: Mutex::new(Random::new(FIRST_IDS.wrapping_add(plan.ids))),
            orders,
        })
    }

    pub(crate) fn evidence(&self) -> MutexGuard<'_, Evidence> {
        self.evidence.lock().unwrap()
    }

    /// Returns the observations at the end.
    pub(crate) fn take_evidence(&self) -> Evidence {
        std::mem::take(&mut *self.evidence())
    }

    /// Returns how many port calls were made so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Counts a call and returns the faults for it.
    pub(crate) fn count(&self, process: &str, name: &str) -> (u64, Vec<FaultKind>) {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let at_ms = self.at_ms();
        let mut evidence = self.evidence();
        evidence
            .calls
            .push((number, process.to_owned(), name.to_owned()));
        evidence.called_ms.push(at_ms);
        drop(evidence);
        let mut faults = self.faults.lock().unwrap();
        let (now, later) = faults.drain(..).partition(|fault| fault.at == number);
        *faults = later;
        (
            number,
            now.into_iter().map(|fault: Fault| fault.kind).collect(),
        )
    }

    /// Returns milliseconds since the scenario started.
    pub(crate) fn at_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap()
    }

    /// Records a disruption with this duration.
    pub(crate) fn disrupt(&self, ms: u64) {
        let now = self.at_ms();
        self.evidence().disrupted.push((now, now + ms));
    }

    pub(crate) fn no_more_faults(&self) {
        self.faults.lock().unwrap().clear();
    }

    pub(crate) fn order(&self, order: Order) {
        // The director outlives all processes, except when the scenario ends.
        let _ = self.orders.send(order);
    }

    /// Creates a thread's working tree.
    pub(crate) fn make_tree(&self, thread: &str) {
        self.trees.lock().unwrap().insert(thread.to_owned());
    }

    pub(crate) fn has_tree(&self, thread: &str) -> bool {
        self.trees.lock().unwrap().contains(thread)
    }

    pub(crate) fn lose_trees(&self) {
        self.trees.lock().unwrap().clear();
    }

    pub(crate) fn lose_data(&self) {
        self.lose_trees();
        self.checkpoints.lock().unwrap().clear();
    }

    /// Stores a checkpoint for a run from a thread's tree.
    pub(crate) fn save_tree(&self, thread: &str, run: &RunId) -> Checkpoint {
        let mut checkpoints = self.checkpoints.lock().unwrap();
        let saved = checkpoints.len() + 1;
        let (git_ref, commit) = (format!("refs/ars/{run}/{saved}"), format!("{saved:040x}"));
        let checkpoint = Checkpoint {
            git_ref,
            commit,
            is_new: true,
            withheld: Vec::new(),
        };
        checkpoints.insert(thread.to_owned(), checkpoint.clone());
        checkpoint
    }

    /// Returns the last checkpoint for a thread's tree.
    pub(crate) fn checkpoint(&self, thread: &str) -> Option<Checkpoint> {
        self.checkpoints.lock().unwrap().get(thread).cloned()
    }

    pub(crate) fn break_stores(&self, after: bool, hangs: bool, ms: u64) {
        self.disrupt(ms);
        let until = Instant::now() + Duration::from_millis(ms);
        *self.outage.lock().unwrap() = Some(Outage {
            until,
            after,
            hangs,
        });
    }

    pub(crate) fn reach(&self) -> Reach {
        match *self.outage.lock().unwrap() {
            Some(outage) if Instant::now() < outage.until => match outage {
                Outage {
                    until,
                    after,
                    hangs: true,
                } => Reach::Hanging { until, after },
                Outage { after: true, .. } => Reach::AnswerLost,
                Outage { after: false, .. } => Reach::Unreachable,
            },
            _ => Reach::Up,
        }
    }

    /// Applies a request to the stores.
    pub(crate) fn deliver(&self, route: Route, body: &str) -> (u16, String) {
        self.state
            .lock()
            .unwrap()
            .call(route, body, self.store_clock.now())
    }

    /// Returns the ledger's live runs.
    pub(crate) fn live(&self) -> Vec<Value> {
        let (_, text) = self.deliver(
            Route::Runs(RunVerb::Live),
            &json!({ "storeKey": STORE }).to_string(),
        );
        let answer: Value = serde_json::from_str(&text).unwrap();
        answer["runs"]
            .as_array()
            .expect("the ledger lists its live runs")
            .clone()
    }

    /// Returns a run's record.
    pub(crate) fn record(&self, id: &str) -> Option<Value> {
        let body = json!({ "storeKey": STORE, "id": id }).to_string();
        let (_, text) = self.deliver(Route::Runs(RunVerb::Get), &body);
        let mut answer: Value = serde_json::from_str(&text).unwrap();
        Some(answer["record"].take()).filter(Value::is_object)
    }

    /// Returns the memory records.
    pub(crate) fn memory(&self) -> Vec<Value> {
        let body = json!({ "scopeKey": story::MEMORY, "limit": MAX_MEMORIES }).to_string();
        let (_, text) = self.deliver(Route::Memory(MemoryVerb::List), &body);
        let answer: Value = serde_json::from_str(&text).unwrap();
        answer["records"]
            .as_array()
            .expect("memory lists its records")
            .clone()
    }
}
