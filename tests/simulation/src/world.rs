//! What outlives every process: the stores, the clocks' common zero, the plan of faults, and the evidence.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use ars_bot_ports::Clock as _;
use ars_testkit::NativeState;
use ars_wire::state::{MemoryVerb, Route, RunVerb};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::UnboundedSender,
    time::{Duration, Instant},
};

use crate::{
    clock::SimClock,
    evidence::Evidence,
    fault::{Fault, Plan, What},
    random::Random,
    story::{self, Story},
};

/// The store that the bot keeps its runs in.
const STORE: &str = ars_wire::runs::DEFAULT_STORE;
/// Records that a memory lists at most.
const MOST_MEMORIES: u32 = 50;
/// The seed of ids and tokens of a plan that names none: each is played the same way every time.
const FIRST_IDS: u64 = 1;

/// The world of one scenario.
pub(crate) struct World {
    pub(crate) story: Story,
    pub(crate) began: Instant,
    pub(crate) store_clock: Arc<SimClock>,
    state: Mutex<NativeState>,
    evidence: Mutex<Evidence>,
    faults: Mutex<Vec<Fault>>,
    calls: AtomicU64,
    outage: Mutex<Option<Outage>>,
    /// Threads that have a working tree.
    trees: Mutex<BTreeSet<String>>,
    /// Requests under way that nobody waits for.
    pub(crate) late: AtomicU64,
    /// What the processes draw their ids and tokens from.
    pub(crate) random: Mutex<Random>,
    orders: UnboundedSender<Order>,
}

#[derive(Clone, Copy)]
struct Outage {
    until: Instant,
    after: bool,
    hangs: bool,
}

/// What a fault asks the scenario's director for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// A process, so much later.
    Start { idle_ms: u64 },
    /// A stop.
    Stop { mode: ars_types::StopMode, through_eldest: bool },
    /// A message into the thread.
    FollowUp { through_eldest: bool },
    /// A process beside the others.
    Second,
    /// A process in place of the eldest.
    Deploy,
}

/// How the stores can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Up,
    Unreachable,
    AnswerLost,
    /// For so long; then it is lost.
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
            evidence: Mutex::new(Evidence { only_kills: plan.only_kills(), ..Evidence::default() }),
            faults: Mutex::new(plan.faults.clone()),
            calls: AtomicU64::new(0),
            outage: Mutex::default(),
            trees: Mutex::default(),
            late: AtomicU64::new(0),
            random: Mutex::new(Random::new(FIRST_IDS.wrapping_add(plan.ids))),
            orders,
        })
    }

    pub(crate) fn evidence(&self) -> MutexGuard<'_, Evidence> {
        self.evidence.lock().unwrap()
    }

    /// The evidence, at the end.
    pub(crate) fn take_evidence(&self) -> Evidence {
        std::mem::take(&mut *self.evidence())
    }

    /// Calls of ports so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Numbers a call, and takes the faults that strike at it.
    pub(crate) fn count(&self, process: &str, name: &str) -> (u64, Vec<What>) {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let at_ms = self.at_ms();
        let mut evidence = self.evidence();
        evidence.calls.push((number, process.to_owned(), name.to_owned()));
        evidence.called_ms.push(at_ms);
        drop(evidence);
        let mut faults = self.faults.lock().unwrap();
        let (now, later) = faults.drain(..).partition(|fault| fault.at == number);
        *faults = later;
        (number, now.into_iter().map(|fault: Fault| fault.what).collect())
    }

    /// Milliseconds since the scenario began.
    pub(crate) fn at_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap()
    }

    /// RunFlush may take longer from now on, for so long.
    pub(crate) fn hinder(&self, ms: u64) {
        let now = self.at_ms();
        self.evidence().hindered.push((now, now + ms));
    }

    pub(crate) fn no_more_faults(&self) {
        self.faults.lock().unwrap().clear();
    }

    pub(crate) fn order(&self, order: Order) {
        // The director is gone only when the scenario is over.
        let _ = self.orders.send(order);
    }

    /// The thread has a working tree from now on.
    pub(crate) fn make_tree(&self, thread: &str) {
        self.trees.lock().unwrap().insert(thread.to_owned());
    }

    pub(crate) fn has_tree(&self, thread: &str) -> bool {
        self.trees.lock().unwrap().contains(thread)
    }

    pub(crate) fn lose_trees(&self) {
        self.trees.lock().unwrap().clear();
    }

    pub(crate) fn break_stores(&self, after: bool, hangs: bool, ms: u64) {
        self.hinder(ms);
        let until = Instant::now() + Duration::from_millis(ms);
        *self.outage.lock().unwrap() = Some(Outage { until, after, hangs });
    }

    pub(crate) fn reach(&self) -> Reach {
        match *self.outage.lock().unwrap() {
            Some(outage) if Instant::now() < outage.until => match outage {
                Outage { until, after, hangs: true } => Reach::Hanging { until, after },
                Outage { after: true, .. } => Reach::AnswerLost,
                Outage { after: false, .. } => Reach::Unreachable,
            },
            _ => Reach::Up,
        }
    }

    /// A request takes effect.
    pub(crate) fn deliver(&self, route: Route, body: &str) -> (u16, String) {
        self.state.lock().unwrap().call(route, body, self.store_clock.now())
    }

    /// The live runs in the ledger.
    pub(crate) fn live(&self) -> Vec<Value> {
        let (_, text) = self.deliver(Route::Runs(RunVerb::Live), &json!({ "storeKey": STORE }).to_string());
        let answer: Value = serde_json::from_str(&text).unwrap();
        answer["runs"].as_array().expect("the ledger lists its live runs").clone()
    }

    /// A run's record.
    pub(crate) fn record(&self, id: &str) -> Option<Value> {
        let body = json!({ "storeKey": STORE, "id": id }).to_string();
        let (_, text) = self.deliver(Route::Runs(RunVerb::Get), &body);
        let mut answer: Value = serde_json::from_str(&text).unwrap();
        Some(answer["record"].take()).filter(Value::is_object)
    }

    /// What is remembered.
    pub(crate) fn memory(&self) -> Vec<Value> {
        let body = json!({ "scopeKey": story::MEMORY, "limit": MOST_MEMORIES }).to_string();
        let (_, text) = self.deliver(Route::Memory(MemoryVerb::List), &body);
        let answer: Value = serde_json::from_str(&text).unwrap();
        answer["records"].as_array().expect("memory lists its records").clone()
    }
}
