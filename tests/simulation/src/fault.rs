//! What goes wrong, and when: a plan names the call of a port, counted over all processes, at which each fault strikes.

use ars_types::StopMode;

use crate::{random::Random, story::Story};

/// Most faults of a random plan.
const MOST_FAULTS: u64 = 6;

/// Everything that goes wrong in one scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// What they strike.
    pub story: Story,
    /// In no order.
    pub faults: Vec<Fault>,
    /// What ids and tokens are drawn from: waits are spread by a run's id.
    pub ids: u64,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The call it strikes at, from 1.
    pub at: u64,
    /// What happens.
    pub what: What,
}

/// What happens at a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The process that makes the call dies, before or after the call had its effect; the next one starts so much later.
    Kill {
        /// The effect took place.
        after: bool,
        /// Milliseconds without a process.
        idle_ms: u64,
    },
    /// Everything in the process that makes the call stands still, and then goes on as if nothing had been.
    Stall {
        /// For so long.
        ms: u64,
    },
    /// No request reaches the stores, or no answer comes back.
    Outage {
        /// Requests take effect and only their answers are lost.
        after: bool,
        /// For so long.
        ms: u64,
    },
    /// Requests to the stores get no answer and no error until they time out; whether they take effect is not known.
    Hang {
        /// They take effect.
        after: bool,
        /// For so long.
        ms: u64,
    },
    /// The request is delivered twice.
    Repeat,
    /// The request fails for its sender and is delivered so much later all the same.
    Late {
        /// Milliseconds.
        ms: i64,
    },
    /// A clock is set.
    Jump {
        /// Which.
        whose: Whose,
        /// By so much.
        ms: i64,
    },
    /// Somebody asks for a stop.
    Stop {
        /// How.
        mode: StopMode,
        /// Through the process that lives longest, else through the newest.
        through_eldest: bool,
    },
    /// Somebody writes into the thread.
    FollowUp {
        /// Through the process that lives longest, else through the newest.
        through_eldest: bool,
    },
    /// A second process starts beside the others.
    Second,
    /// The eldest process is asked to leave, and another starts.
    Deploy,
    /// The reply does not reach the requester (any other call is not disturbed).
    Undelivered,
    /// The disk is lost, and the working trees on it.
    LoseTrees,
}

/// Whose clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The stores'.
    Store,
    /// That of the process that makes the call.
    Process,
}

impl Plan {
    /// The process dies at this call; its lease lapses meanwhile or does not.
    pub fn kill(at: u64, after: bool, idle_ms: u64) -> Self {
        Self { faults: vec![Fault { at, what: What::Kill { after, idle_ms } }], ..Self::default() }
    }

    /// The same faults in another story.
    #[must_use]
    pub fn of(self, story: Story) -> Self {
        Self { story, ..self }
    }

    /// Nothing goes wrong but deaths.
    pub(crate) fn only_kills(&self) -> bool {
        self.faults.iter().all(|fault| matches!(fault.what, What::Kill { .. }))
    }

    /// The plan of a seed.
    pub fn random(story: Story, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = 1 + random.below(MOST_FAULTS);
        let faults =
            (0..count).map(|_| Fault { at: 1 + random.below(story.calls()), what: any(&mut random) });
        Self { story, faults: faults.collect(), ids: seed }
    }
}

fn any(random: &mut Random) -> What {
    match random.below(15) {
        0..=3 => What::Kill { after: random.coin(), idle_ms: random.below(60_000) },
        4 => What::Stall { ms: random.below(120_000) },
        5 => What::Outage { after: random.coin(), ms: random.below(60_000) },
        6 => What::Repeat,
        7 => What::Late { ms: i64::try_from(random.below(90_000)).unwrap() },
        8 => {
            let whose = if random.coin() { Whose::Store } else { Whose::Process };
            What::Jump { whose, ms: i64::try_from(random.below(240_000)).unwrap() - 120_000 }
        }
        9 => {
            let mode = if random.coin() { StopMode::Soft } else { StopMode::Hard };
            What::Stop { mode, through_eldest: random.coin() }
        }
        10 => What::FollowUp { through_eldest: random.coin() },
        11 => What::Second,
        12 => What::Deploy,
        13 => What::Hang { after: random.coin(), ms: random.below(60_000) },
        _ => What::Undelivered,
    }
}
