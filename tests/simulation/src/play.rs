//! A scenario's director: starts processes, and forwards messages and stops. Waits until all
//! processes are idle.

use std::sync::{Arc, atomic::Ordering};

use ars_auth::{Grants, Set, Viewer};
use ars_bot_core::queries::Reader;
use ars_events::{Actor, ActorKind};
use ars_types::{RunId, StopMode};
use serde_json::Value;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{Duration, Instant, sleep},
};

use crate::{
    evidence::{Evidence, Stopped},
    fault::Plan,
    lifetime::Lifetime,
    process::Process,
    world::{Order, World},
};

/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Timeout for all processes to become idle.
const LIMIT: Duration = Duration::from_secs(3 * 3600);
/// Timeout for the last process to close orphaned runs.
const LAST_LIMIT: Duration = Duration::from_secs(600);

/// Delay between concurrent requests, so that they are not in lockstep.
const BETWEEN_REQUESTS: Duration = Duration::from_millis(7);

/// A scenario's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All processes became idle.
    Quiet,
    /// All processes became idle after a new process had closed orphaned runs.
    AfterRestart,
    /// A process was still busy.
    Never,
}

/// Plays a scenario: the story's runs with the plan's faults.
pub fn play(plan: &Plan) -> (Ended, Evidence) {
    staged(plan, async |director| director.direct().await)
}

/// Plays concurrent canonical runs in a single process, each in its own thread, without faults.
pub fn play_at_once(runs: u64) -> (Ended, Evidence) {
    staged(&Plan::default(), async |director| {
        director.start();
        for number in 1..=runs {
            let id = format!("m{number}");
            director.processes[0].receive_in(&id, &id, &format!("canonical {id}"));
            sleep(BETWEEN_REQUESTS).await;
        }
        if director.until_quiet(LIMIT, Director::is_idle).await {
            Ended::Quiet
        } else {
            Ended::Never
        }
    })
}

fn staged(plan: &Plan, scenario: impl AsyncFnOnce(&mut Director) -> Ended) -> (Ended, Evidence) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (orders, inbox) = unbounded_channel();
        let world = World::new(plan, orders);
        let mut director = Director {
            world,
            inbox,
            processes: Vec::new(),
            starts_at: Vec::new(),
            messages: 0,
        };
        let ended = scenario(&mut director).await;
        director.gather();
        (ended, director.world.take_evidence())
    })
}

struct Director {
    world: Arc<World>,
    inbox: UnboundedReceiver<Order>,
    processes: Vec<Process>,
    /// When further processes start.
    starts_at: Vec<Instant>,
    messages: usize,
}

impl Director {
    async fn direct(&mut self) -> Ended {
        self.start();
        let pace = self.world.story.pace();
        if pace.is_some() {
            self.start();
        }
        for (request, is_eldest) in self
            .world
            .story
            .requests()
            .iter()
            .zip([true, false].into_iter().cycle())
        {
            let text = format!("{}{}", request.directives, request.text);
            if let Some(process) = self.chosen(pace.is_some() && is_eldest) {
                process.receive_in(request.thread, request.id, &text);
            }
            if let Some(pace) = pace {
                self.until_quiet(pace, |_| false).await;
            } else if !self.until_quiet(LIMIT, Self::is_idle).await {
                return Ended::Never;
            }
        }
        if !self.until_quiet(LIMIT, Self::is_idle).await {
            return Ended::Never;
        }
        if self.world.live().is_empty() {
            return Ended::Quiet;
        }
        self.world.no_more_faults();
        self.processes.iter().for_each(|process| process.life.end());
        self.start();
        let is_settled = |director: &Self| director.is_idle() && director.world.live().is_empty();
        if self.until_quiet(LAST_LIMIT, is_settled).await {
            Ended::AfterRestart
        } else {
            Ended::Never
        }
    }

    async fn until_quiet(&mut self, limit: Duration, is_quiet: impl Fn(&Self) -> bool) -> bool {
        let began = Instant::now();
        while began.elapsed() < limit {
            tokio::select! {
                biased;
                Some(order) = self.inbox.recv() => {
                    self.obey(order);
                    continue;
                }
                () = sleep(POLL_INTERVAL) => {}
            }
            let now = Instant::now();
            let due = self.starts_at.iter().filter(|at| **at <= now).count();
            self.starts_at.retain(|at| *at > now);
            (0..due).for_each(|_| self.start());
            if is_quiet(self) {
                return true;
            }
        }
        false
    }

    fn is_idle(&self) -> bool {
        let is_busy =
            |process: &Process| !process.life.is_dead() && process.core.load().in_flight > 0;
        self.starts_at.is_empty()
            && self.inbox.is_empty()
            && self.world.late.load(Ordering::SeqCst) == 0
            && !self.processes.iter().any(is_busy)
            && !self.awaits_reclaim()
    }

    /// Returns whether a live process will reclaim an orphaned run once its lease has expired.
    fn awaits_reclaim(&self) -> bool {
        let is_kept = |row: &Value| {
            let owner = self
                .processes
                .iter()
                .find(|process| row["ownerGen"] == process.life.name.as_str());
            owner.is_some_and(|owner| !owner.life.is_dead())
        };
        let has_taker = self
            .processes
            .iter()
            .any(|process| !process.life.is_dead() && !process.is_leaving);
        has_taker && self.world.live().iter().any(|row| !is_kept(row))
    }

    fn start(&mut self) {
        let number = self.processes.len() + 1;
        self.processes.push(Process::start(&self.world, number));
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Start { idle_ms } => {
                let others = self
                    .processes
                    .iter()
                    .any(|process| !process.life.is_dead() && !process.is_leaving);
                if !others {
                    self.starts_at
                        .push(Instant::now() + Duration::from_millis(idle_ms));
                }
            }
            Order::Second => self.start(),
            Order::Deploy => self.deploy(),
            Order::FollowUp { through_eldest } => self.follow_up(through_eldest),
            Order::Stop {
                mode,
                through_eldest,
            } => self.stop(mode, through_eldest),
        }
    }

    fn chosen(&self, eldest: bool) -> Option<&Process> {
        let mut live = self
            .processes
            .iter()
            .filter(|process| !process.life.is_dead() && !process.is_leaving);
        if eldest {
            live.next()
        } else {
            live.next_back()
        }
    }

    fn deploy(&mut self) {
        let eldest = self
            .processes
            .iter_mut()
            .find(|process| !process.life.is_dead() && !process.is_leaving);
        let Some(eldest) = eldest else { return };
        eldest.is_leaving = true;
        let core = eldest.core.clone();
        let life = Arc::clone(&eldest.life);
        tokio::spawn(async move {
            core.drain(ars_bot_core::DRAIN_DEADLINE).await;
            life.end();
        });
        self.start();
    }

    fn follow_up(&mut self, through_eldest: bool) {
        self.messages += 1;
        let id = format!("f{}", self.messages);
        if let Some(process) = self.chosen(through_eldest) {
            process.receive(&id, &format!("follow-up {id}"));
        }
    }

    fn stop(&self, mode: StopMode, through_eldest: bool) {
        let Some(process) = self.chosen(through_eldest) else {
            return;
        };
        let Some(row) = self.world.live().into_iter().next() else {
            return;
        };
        let run = RunId::parse(row["runId"].as_str().unwrap()).unwrap();
        let core = process.core.clone();
        let life = Arc::clone(&process.life);
        tokio::spawn(async move {
            let actor = Actor {
                kind: ActorKind::Access,
                id: "http:ann".into(),
            };
            let asked_at = crate::script::ids(row["meta"]["label"].as_str().unwrap_or_default());
            let grants = Grants {
                actions: Set::only(&["runs:write"]),
                channels: Set::All,
                ..Grants::default()
            };
            let viewer = Viewer::new(ars_auth::Actor::browser("access:ann").with(&grants));
            let reader = Reader {
                viewer: &viewer,
                token: "",
                route: "simulation",
            };
            let outcome = core.queries().stop_as(&reader, &run, mode, actor).await;
            life.alive().await;
            if outcome.is_ok() {
                acknowledge(&life, &run, mode, &asked_at);
            }
        });
    }

    /// Collects the stores' final state.
    fn gather(&self) {
        let ids: Vec<_> = self.world.evidence().runs.keys().cloned().collect();
        for id in ids {
            let record = self.world.record(&id);
            self.world.evidence().run(&id).record = record;
        }
        let live = self.world.live();
        let took_ms = self.world.at_ms();
        let memory = self.world.memory();
        let mut evidence = self.world.evidence();
        evidence.story = self.world.story;
        evidence.memory = memory;
        evidence.left_live = live;
        evidence.took_ms = took_ms;
    }
}

/// Records an acknowledged stop.
fn acknowledge(life: &Lifetime, run: &RunId, mode: StopMode, messages: &[String]) {
    let world = &life.world;
    let row = world
        .live()
        .into_iter()
        .find(|row| row["runId"] == run.as_str());
    let owner = row
        .as_ref()
        .and_then(|row| row["ownerGen"].as_str())
        .map(str::to_owned);
    let is_stored = row.as_ref().is_some_and(|row| row["stop"].is_string());
    let number = world.calls();
    let at_ms = world.at_ms();
    let mut evidence = world.evidence();
    // A run that exhausted its money has no final model answer. It is over once it stores its end, before the permit.
    let is_over = row
        .as_ref()
        .is_none_or(|row| row["phase"] == "finishing" || !row["state"]["finalStatus"].is_null());
    let is_late = is_over
        || messages
            .iter()
            .any(|message| evidence.answered.contains_key(message));
    evidence.stops.push(Stopped {
        run: run.to_string(),
        mode,
        through: life.name.clone(),
        owner,
        is_stored,
        is_late,
        number,
        at_ms,
    });
}
