//! The life of the bot's container: started when it is wanted, watched, stopped gently, and never twice at once
//! (document 1 section 4.6, resident supplement 13).
//!
//! A value: `step(input, now)` changes it and says what to do. What is kept of it between two lives of the object is
//! all of it ([`Lifecycle::kept`]), so an eviction at any line loses no more than a pending look.
//!
//! - **One container.** It is started only from a state that a seen exit led to, or in which none was found.
//! - **Reports know their container.** Each start has a number; what arrives of an earlier one changes nothing.
//! - **A new version replaces an old one** as a restart does: the old bot is told to end, and only when it has is the
//!   new one started. A second version while the first still ends cuts that short, and an old bot that is not healthy yet
//!   is not told but destroyed.
//! - **Crashes** grow the wait before the next start; a bot that was up for a while is forgiven.
//!
//! Not here: carrying it out (`durable-objects/bot`), and what its failures say (`failure`).

use serde::{Deserialize, Serialize};

/// How long a start may take until the bot is healthy (resident supplement 13: port-ready wait).
pub const START_LIMIT_MS: i64 = 120_000;
/// How long a bot may drain (bot supplement 23: `drainDeadlineMs`).
pub const DRAIN_LIMIT_MS: i64 = 900_000;
/// After which it has had time to end by itself at its own deadline, and is destroyed.
const DRAIN_GRACE_MS: i64 = 15_000;
/// After which the end of a destroyed container should have been seen, and it is destroyed again.
const DEATH_LIMIT_MS: i64 = 30_000;
/// Up for so long, a bot has not crashed at its start.
const STABLE_MS: i64 = 300_000;
/// The wait after the second crash in a row; each further one doubles it.
const FIRST_BACKOFF_MS: i64 = 1_000;
/// The longest wait: that of the tick which asks every minute.
const LONGEST_BACKOFF_MS: i64 = 60_000;
/// Between two looks at a bot that starts: a quarter of the time since the start, within these.
const LOOKS_MS: (i64, i64) = (25, 2_000);
/// When to ask again of a bot that ends, starts, or broke off.
pub const RETRY_AFTER_S: u32 = 2;

/// The container's life.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lifecycle {
    phase: Phase,
    /// Crashes in a row.
    crashes: u32,
    /// Counts containers, and lives of the object: what a report must name to count.
    start: u32,
    /// The version of the container that runs.
    running: Option<String>,
    /// The version for which the one that ends makes room.
    next: Option<String>,
    /// The version of this life's Worker, and of what it starts.
    #[serde(skip)]
    version: String,
}

/// Where it stands. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum Phase {
    /// Nothing runs.
    #[default]
    Down,
    /// Nothing runs, nor is started before that time.
    Waiting { until: i64 },
    /// Started, not healthy yet.
    Starting { since: i64 },
    /// Healthy.
    Up { since: i64 },
    /// Told to end; destroyed at that time.
    Ending { until: i64 },
    /// Destroyed, its end not seen yet. `again`: the next is started as soon as it is.
    Dying { again: bool },
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The object woke and found a container, or none.
    Woke {
        /// There is one.
        running: bool,
    },
    /// A request or the tick wants the bot.
    Wanted,
    /// The container of that number answered the probe, or did not.
    Looked {
        /// Which container.
        start: u32,
        /// It answered well.
        healthy: bool,
    },
    /// The container of that number ended, with its exit code if there is one.
    Ended {
        /// Which container.
        start: u32,
        /// How it ended.
        code: Option<i32>,
    },
    /// The watch over the container of that number failed, or its start did, and it runs all the same.
    Unwatched {
        /// Which container.
        start: u32,
    },
    /// A restart was allowed; `force` cuts an end under way short.
    Restart {
        /// The caller insists.
        force: bool,
    },
    /// The alarm rang.
    Rang,
}

/// What to do, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "camelCase")]
pub enum Action {
    /// Start the container with the environment of now; one that cannot be started ends under this number.
    Start {
        /// The number.
        start: u32,
    },
    /// Report its end under this number.
    Watch {
        /// The number.
        start: u32,
    },
    /// Ask the probe after so long and report the answer under this number.
    Look {
        /// The number.
        start: u32,
        /// Milliseconds.
        after: i64,
    },
    /// SIGTERM.
    Signal,
    /// SIGKILL, whatever runs.
    Destroy,
    /// Ring the object's alarm then.
    Ring {
        /// Milliseconds since the epoch.
        at: i64,
    },
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The bot takes it, or at least may.
    Pass,
    /// It is asked again at the next change.
    Hold,
    /// 503 with this `Retry-After` in seconds.
    Refuse {
        /// Seconds.
        retry_after: u32,
    },
}

impl Lifecycle {
    /// What an earlier life of the object kept. A text of another shape is that of no life: whatever runs is then of
    /// an unknown version, and replaced.
    pub fn of(kept: Option<&str>, version: &str) -> Self {
        let kept: Self = kept.and_then(|kept| serde_json::from_str(kept).ok()).unwrap_or_default();
        Self { version: version.to_owned(), ..kept }
    }

    /// What is to be kept.
    pub fn kept(&self) -> String {
        // Plain data with string keys has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What becomes of a request now.
    pub fn verdict(&self, now: i64) -> Verdict {
        match self.phase {
            // While it ends, the bot still answers: health, pages, streams.
            Phase::Up { .. } | Phase::Ending { .. } => Verdict::Pass,
            Phase::Starting { .. } => Verdict::Hold,
            Phase::Down | Phase::Dying { .. } => Verdict::Refuse { retry_after: RETRY_AFTER_S },
            Phase::Waiting { until } => {
                let seconds = u32::try_from((until - now + 999) / 1000).unwrap_or_default();
                Verdict::Refuse { retry_after: seconds.max(1) }
            }
        }
    }

    /// Whether a container runs, as far as is known.
    pub fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Down | Phase::Waiting { .. })
    }

    /// Takes in what happened.
    pub fn step(&mut self, input: Input, now: i64) -> Vec<Action> {
        match input {
            Input::Woke { running: true } => self.found(now),
            Input::Woke { running: false } => self.found_nothing(now),
            Input::Wanted => self.wanted(now),
            Input::Looked { start, healthy } if start == self.start => self.looked(healthy, now),
            Input::Ended { start, code } if start == self.start => self.ended(code, now),
            Input::Unwatched { start } if start == self.start => self.found(now),
            Input::Looked { .. } | Input::Ended { .. } | Input::Unwatched { .. } => Vec::new(),
            Input::Restart { force } => self.restart(force, now),
            Input::Rang => self.rang(now),
        }
    }

    fn wanted(&mut self, now: i64) -> Vec<Action> {
        match self.phase {
            Phase::Down => self.begin(now),
            Phase::Waiting { until } if now >= until => self.begin(now),
            _ => Vec::new(),
        }
    }

    fn begin(&mut self, now: i64) -> Vec<Action> {
        self.phase = Phase::Starting { since: now };
        self.running = Some(self.version.clone());
        self.next = None;
        self.start = self.start.wrapping_add(1);
        let start = self.start;
        vec![Action::Start { start }, Action::Watch { start }, Action::Look { start, after: LOOKS_MS.0 }]
    }

    /// A container of an earlier life. The number moves on, so that what that life still reports is not counted twice.
    fn found(&mut self, now: i64) -> Vec<Action> {
        self.start = self.start.wrapping_add(1);
        let start = self.start;
        let mut actions = vec![Action::Watch { start }];
        let is_ours = self.running.as_ref() == Some(&self.version);
        match self.phase {
            Phase::Dying { again } => actions.extend(self.destroy(again, now)),
            Phase::Ending { .. } if self.next.as_ref() != Some(&self.version) => {
                actions.extend(self.destroy(true, now));
            }
            // The signal may not have arrived; the bot takes no notice of a second one.
            Phase::Ending { until } => actions.extend([Action::Signal, Action::Ring { at: until }]),
            // It has taken no request, and may not hear a signal yet.
            Phase::Starting { .. } if !is_ours => actions.extend(self.destroy(true, now)),
            _ if !is_ours => actions.extend(self.end(now)),
            Phase::Up { .. } => {}
            Phase::Starting { .. } => actions.push(Action::Look { start, after: 0 }),
            Phase::Down | Phase::Waiting { .. } => {
                self.phase = Phase::Starting { since: now };
                actions.push(Action::Look { start, after: 0 });
            }
        }
        actions
    }

    /// It ended while nobody watched. One that was to end is followed at once; for any other there is no telling
    /// whether it crashed, so it is not held against it.
    fn found_nothing(&mut self, now: i64) -> Vec<Action> {
        self.running = None;
        match self.phase {
            Phase::Ending { .. } | Phase::Dying { again: true } => self.begin(now),
            Phase::Waiting { .. } => Vec::new(),
            _ => {
                self.phase = Phase::Down;
                Vec::new()
            }
        }
    }

    fn looked(&mut self, healthy: bool, now: i64) -> Vec<Action> {
        let Phase::Starting { since } = self.phase else { return Vec::new() };
        let start = self.start;
        match now - since {
            _ if healthy => {
                self.phase = Phase::Up { since: now };
                Vec::new()
            }
            waited if waited >= START_LIMIT_MS => self.destroy(false, now),
            waited => vec![Action::Look { start, after: (waited / 4).clamp(LOOKS_MS.0, LOOKS_MS.1) }],
        }
    }

    fn ended(&mut self, code: Option<i32>, now: i64) -> Vec<Action> {
        self.running = None;
        match self.phase {
            // A restart: the next one follows at once.
            Phase::Ending { .. } | Phase::Dying { again: true } => {
                self.crashes = 0;
                self.begin(now)
            }
            // The platform ended it, which it does gently: no crash.
            Phase::Up { .. } if code == Some(0) => {
                self.phase = Phase::Down;
                Vec::new()
            }
            Phase::Up { since } => {
                if now - since >= STABLE_MS {
                    self.crashes = 0;
                }
                self.crashed(now)
            }
            Phase::Starting { .. } | Phase::Dying { again: false } => self.crashed(now),
            Phase::Down | Phase::Waiting { .. } => Vec::new(),
        }
    }

    fn crashed(&mut self, now: i64) -> Vec<Action> {
        self.crashes = self.crashes.saturating_add(1);
        self.phase = match self.crashes {
            1 => Phase::Down,
            crashes => Phase::Waiting { until: now + backoff(crashes) },
        };
        Vec::new()
    }

    fn restart(&mut self, force: bool, now: i64) -> Vec<Action> {
        match self.phase {
            Phase::Starting { .. } | Phase::Up { .. } => self.end(now),
            Phase::Ending { .. } if force => self.destroy(true, now),
            _ => Vec::new(),
        }
    }

    fn rang(&mut self, now: i64) -> Vec<Action> {
        match self.phase {
            Phase::Ending { until } if now >= until => self.destroy(true, now),
            Phase::Ending { until } => vec![Action::Ring { at: until }],
            // It was not heard of, or it failed.
            Phase::Dying { again } => self.destroy(again, now),
            _ => Vec::new(),
        }
    }

    fn end(&mut self, now: i64) -> Vec<Action> {
        let until = now + DRAIN_LIMIT_MS + DRAIN_GRACE_MS;
        self.phase = Phase::Ending { until };
        self.next = Some(self.version.clone());
        vec![Action::Signal, Action::Ring { at: until }]
    }

    fn destroy(&mut self, again: bool, now: i64) -> Vec<Action> {
        self.phase = Phase::Dying { again };
        vec![Action::Destroy, Action::Ring { at: now + DEATH_LIMIT_MS }]
    }
}

/// The wait before the start after so many crashes in a row.
fn backoff(crashes: u32) -> i64 {
    let doublings = crashes.saturating_sub(2).min(16);
    (FIRST_BACKOFF_MS << doublings).min(LONGEST_BACKOFF_MS)
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
