//! The life of one process: every call it makes of the world passes here, and none comes back once it is dead.
//!
//! A killed process is one that nothing comes back to: whatever it still has in memory can reach nobody. Its tasks are
//! dropped with the scenario.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use tokio::time::{Duration, Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::SimClock,
    fault::{What, Whose},
    world::{Order, World},
};

/// How long a request takes in each direction.
const HALFWAY: Duration = Duration::from_millis(2);

/// One process.
pub(crate) struct Life {
    pub(crate) world: Arc<World>,
    /// Its generation.
    pub(crate) name: String,
    pub(crate) clock: Arc<SimClock>,
    ended: CancellationToken,
    stalled_until: Mutex<Option<Instant>>,
}

/// One call under way, and what is to happen to it.
#[derive(Default)]
pub(crate) struct Call {
    pub(crate) number: u64,
    kill_after: Option<u64>,
    pub(crate) is_repeated: bool,
    pub(crate) late_ms: Option<i64>,
    pub(crate) is_undelivered: bool,
}

impl Life {
    pub(crate) fn new(world: &Arc<World>, name: String) -> Arc<Self> {
        let clock = SimClock::since(world.began);
        let (ended, stalled_until) = (CancellationToken::new(), Mutex::default());
        Arc::new(Self { world: Arc::clone(world), name, clock, ended, stalled_until })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Nothing reaches the process any more.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    /// Comes back when nothing reaches the process any more.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// A call of a port begins: it comes back when the effect may take place.
    pub(crate) async fn begin(&self, name: &str) -> Call {
        self.alive().await;
        let (number, faults) = self.world.count(&self.name, name);
        let mut call = Call { number, ..Call::default() };
        for fault in faults {
            self.strike(fault, &mut call).await;
        }
        sleep(HALFWAY).await;
        self.alive().await;
        call
    }

    /// The effect has taken place: it comes back when the process may know.
    pub(crate) async fn end_call(&self, call: &Call) {
        if let Some(idle_ms) = call.kill_after {
            self.die(idle_ms).await;
        }
        sleep(HALFWAY).await;
        self.alive().await;
    }

    async fn strike(&self, fault: What, call: &mut Call) {
        match fault {
            What::Kill { after: false, idle_ms } => self.die(idle_ms).await,
            What::Kill { after: true, idle_ms } => call.kill_after = Some(idle_ms),
            What::Stall { ms } => {
                self.world.hinder(ms);
                *self.stalled_until.lock().unwrap() = Some(Instant::now() + Duration::from_millis(ms));
            }
            What::Outage { after, ms } => self.world.break_stores(after, false, ms),
            What::Hang { after, ms } => self.world.break_stores(after, true, ms),
            What::Repeat => call.is_repeated = true,
            What::Late { ms } => call.late_ms = Some(ms),
            What::Jump { whose: Whose::Store, ms } => self.world.store_clock.jump(ms),
            What::Jump { whose: Whose::Process, ms } => {
                // A clock set back delays what is due by it, such as a heartbeat.
                self.world.hinder(ms.unsigned_abs());
                self.clock.jump(ms);
            }
            What::Stop { mode, through_eldest } => self.world.order(Order::Stop { mode, through_eldest }),
            What::FollowUp { through_eldest } => self.world.order(Order::FollowUp { through_eldest }),
            What::Second => self.world.order(Order::Second),
            What::Deploy => self.world.order(Order::Deploy),
            What::Undelivered => call.is_undelivered = true,
            What::LoseTrees => self.world.lose_trees(),
        }
    }

    async fn die(&self, idle_ms: u64) {
        if !self.is_dead() {
            self.end();
            let number = self.world.calls();
            self.world.evidence().killed.insert(self.name.clone(), number);
            self.world.order(Order::Start { idle_ms });
        }
        pending::<()>().await;
    }

    /// Comes back at once in a live process, later in one that stands still, never in a dead one.
    pub(crate) async fn alive(&self) {
        loop {
            if self.is_dead() {
                pending::<()>().await;
            }
            let until = *self.stalled_until.lock().unwrap();
            match until.filter(|until| Instant::now() < *until) {
                Some(until) => sleep_until(until).await,
                None => return,
            }
        }
    }
}
