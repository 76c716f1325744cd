//! Fault plans: each fault is injected at a port call, counted over all processes.

use ars_types::StopMode;

use crate::{random::Random, story::Story};

/// Maximum faults in a random plan.
const MAX_FAULTS: u64 = 6;

/// A scenario's complete fault plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The scenario's story.
    pub story: Story,
    /// Faults, in any order.
    pub faults: Vec<Fault>,
    /// Seed for ids and tokens. Backoff jitter derives from run ids.
    pub ids: u64,
}

/// A fault in the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Call number, from 1.
    pub at: u64,
    /// What the fault does.
    pub kind: FaultKind,
}

/// Kind of fault at a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Kills the calling process before or after the call's effect. The next process starts later.
    Kill {
        /// Whether the effect took place.
        after: bool,
        /// Milliseconds without a process.
        idle_ms: u64,
    },
    /// Suspends the calling process, which then continues unaware.
    Stall {
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Makes the stores unreachable, or loses their answers.
    Outage {
        /// Whether requests take effect and only answers are lost.
        after: bool,
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Makes requests hang until they time out.
    Hang {
        /// Whether they take effect.
        after: bool,
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Delivers the request twice.
    Repeat,
    /// Fails the request for the sender and delivers it later.
    Late {
        /// How late, in milliseconds.
        ms: i64,
    },
    /// Changes a simulated clock.
    Jump {
        /// Whose clock changes.
        whose: ClockOwner,
        /// How far, in milliseconds.
        ms: i64,
    },
    /// Requests that a run stops.
    Stop {
        /// How the run stops.
        mode: StopMode,
        /// Through the oldest process, else through the newest.
        through_eldest: bool,
    },
    /// Sends a follow-up to the thread.
    FollowUp {
        /// Through the oldest process, else through the newest.
        through_eldest: bool,
    },
    /// Starts another process concurrently.
    Second,
    /// Shuts down the oldest process and starts another.
    Deploy,
    /// Loses the reply on the way to the requester (no effect on other calls).
    Undelivered,
    /// Loses the disk with the working trees. In a plan with it, tree checkpoints are port calls.
    LoseTrees,
    /// Loses the disk with the working trees and their checkpoints.
    LoseData,
}

/// Who has the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockOwner {
    /// The stores' clock.
    Store,
    /// The calling process's clock.
    Process,
}

impl Plan {
    /// Returns a plan that kills the process at this call. The lease expires while idle, or not.
    pub fn kill(at: u64, after: bool, idle_ms: u64) -> Self {
        Self {
            faults: vec![Fault {
                at,
                kind: FaultKind::Kill { after, idle_ms },
            }],
            ..Self::default()
        }
    }

    /// Returns the same faults in another story.
    #[must_use]
    pub fn in_story(self, story: Story) -> Self {
        Self { story, ..self }
    }

    /// Returns whether all faults are kills.
    pub(crate) fn only_kills(&self) -> bool {
        self.faults
            .iter()
            .all(|fault| matches!(fault.kind, FaultKind::Kill { .. }))
    }

    /// Returns the plan for a seed.
    pub fn random(story: Story, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = 1 + random.below(MAX_FAULTS);
        let faults = (0..count).map(|_| Fault {
            at: 1 + random.below(story.calls()),
            kind: any(&mut random),
        });
        Self {
            story,
            faults: faults.collect(),
            ids: seed,
        }
    }
}

fn any(random: &mut Random) -> FaultKind {
    match random.below(15) {
        0..=3 => FaultKind::Kill {
            after: random.coin(),
            idle_ms: random.below(60_000),
        },
        4 => FaultKind::Stall {
            ms: random.below(120_000),
        },
        5 => FaultKind::Outage {
            after: random.coin(),
            ms: random.below(60_000),
        },
        6 => FaultKind::Repeat,
        7 => FaultKind::Late {
            ms: i64::try_from(random.below(90_000)).unwrap(),
        },
        8 => {
            let whose = if random.coin() {
                ClockOwner::Store
            } else {
                ClockOwner::Process
            };
            FaultKind::Jump {
                whose,
                ms: i64::try_from(random.below(240_000)).unwrap() - 120_000,
            }
        }
        9 => {
            let mode = if random.coin() {
                StopMode::Soft
            } else {
                StopMode::Hard
            };
            FaultKind::Stop {
                mode,
                through_eldest: random.coin(),
            }
        }
        10 => FaultKind::FollowUp {
            through_eldest: random.coin(),
        },
        11 => FaultKind::Second,
        12 => FaultKind::Deploy,
        13 => FaultKind::Hang {
            after: random.coin(),
            ms: random.below(60_000),
        },
        _ => FaultKind::Undelivered,
    }
}
