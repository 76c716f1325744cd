//! A single process's lifetime: all its port calls pass here, and none returns after it is killed.
//!
//! A killed process's remaining memory cannot affect any other. The tasks are dropped with the
//! scenario.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use tokio::time::{Duration, Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::SimClock,
    fault::{ClockOwner, FaultKind},
    world::{Order, World},
};

/// A request's latency in each direction.
const HALFWAY: Duration = Duration::from_millis(2);

/// A single simulated process.
pub(crate) struct Lifetime {
    pub(crate) world: Arc<World>,
    /// The process's generation.
    pub(crate) name: String,
    pub(crate) clock: Arc<SimClock>,
    ended: CancellationToken,
    stalled_until: Mutex<Option<Instant>>,
}

/// A port call in flight, with the planned faults.
#[derive(Default)]
pub(crate) struct Call {
    pub(crate) number: u64,
    kill_after: Option<u64>,
    pub(crate) is_repeated: bool,
    pub(crate) late_ms: Option<i64>,
    pub(crate) is_undelivered: bool,
}

impl Lifetime {
    pub(crate) fn new(world: &Arc<World>, name: String) -> Arc<Self> {
        let clock = SimClock::since(world.began);
        let ended = CancellationToken::new();
        let stalled_until = Mutex::default();
        Arc::new(Self {
            world: Arc::clone(world),
            name,
            clock,
            ended,
            stalled_until,
        })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Kills the process.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    /// Completes when the process is killed.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Starts a port call. Completes when the effect may take place.
    pub(crate) async fn begin(&self, name: &str) -> Call {
        self.alive().await;
        let (number, faults) = self.world.count(&self.name, name);
        let mut call = Call {
            number,
            ..Call::default()
        };
        for fault in faults {
            self.strike(fault, &mut call).await;
        }
        sleep(HALFWAY).await;
        self.alive().await;
        call
    }

    /// Ends a port call after the effect. Completes when the process may know the result.
    pub(crate) async fn end_call(&self, call: &Call) {
        if let Some(idle_ms) = call.kill_after {
            self.die(idle_ms).await;
        }
        sleep(HALFWAY).await;
        self.alive().await;
    }

    async fn strike(&self, fault: FaultKind, call: &mut Call) {
        match fault {
            FaultKind::Kill {
                after: false,
                idle_ms,
            } => self.die(idle_ms).await,
            FaultKind::Kill {
                after: true,
                idle_ms,
            } => call.kill_after = Some(idle_ms),
            FaultKind::Stall { ms } => {
                self.world.disrupt(ms);
                *self.stalled_until.lock().unwrap() =
                    Some(Instant::now() + Duration::from_millis(ms));
            }
            FaultKind::Outage { after, ms } => self.world.break_stores(after, false, ms),
            FaultKind::Hang { after, ms } => self.world.break_stores(after, true, ms),
            FaultKind::Repeat => call.is_repeated = true,
            FaultKind::Late { ms } => call.late_ms = Some(ms),
            FaultKind::Jump {
                whose: ClockOwner::Store,
                ms,
            } => self.world.store_clock.jump(ms),
            FaultKind::Jump {
                whose: ClockOwner::Process,
                ms,
            } => {
                // A clock that moves back delays timers such as heartbeats.
                self.world.disrupt(ms.unsigned_abs());
                self.clock.jump(ms);
            }
            FaultKind::Stop {
                mode,
                through_eldest,
            } => {
                self.world.order(Order::Stop {
                    mode,
                    through_eldest,
                });
            }
            FaultKind::FollowUp { through_eldest } => {
                self.world.order(Order::FollowUp { through_eldest });
            }
            FaultKind::Second => self.world.order(Order::Second),
            FaultKind::Deploy => self.world.order(Order::Deploy),
            FaultKind::Undelivered => call.is_undelivered = true,
            FaultKind::LoseTrees => self.world.lose_trees(),
            FaultKind::LoseData => self.world.lose_data(),
        }
    }

    async fn die(&self, idle_ms: u64) {
        if !self.is_dead() {
            self.end();
            let number = self.world.calls();
            self.world
                .evidence()
                .killed
                .insert(self.name.clone(), number);
            self.world.order(Order::Start { idle_ms });
        }
        pending::<()>().await;
    }

    /// Completes at once in a live process, later in a suspended one, and never in a killed one.
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
