//! An owned container's lifecycle: started on demand, probed, drained, and never running twice.
//!
//! A value: `step(input, now)` changes it and returns actions. [`Lifecycle::stored`] is the whole
//! state, so when the object is evicted, it loses no more than a pending probe.
//!
//! - **One container.** A start follows only an observed exit, or a wake-up that found no
//!   container.
//! - **Reports name their container.** Each start has a number, and a report about an earlier start
//!   is ignored.
//! - **A new version replaces an old version** like a restart: the old container drains, and the
//!   new container starts after its exit. A second new version destroys a container that still
//!   drains. A container that is not healthy yet is destroyed too.
//! - **Crashes** increase the backoff before the next start. A stable uptime resets it.
//!
//! Not here: execution (`durable-objects/platform`) and the runtime's error messages (`failure`).

use serde::{Deserialize, Serialize};

/// Timeouts that a container's owner chooses, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// From a start to the first successful probe.
    pub start_ms: i64,
    /// From SIGTERM to the container's own deadline.
    pub drain_ms: i64,
    /// After the drain, until the container is destroyed.
    pub grace_ms: i64,
    /// Uptime that resets the crash count.
    pub stable_ms: i64,
}

/// Timeout until a destroyed container's end is reported; then it is destroyed again.
const DESTROY_TIMEOUT_MS: i64 = 30_000;
/// Backoff after the second crash in a row. Each further crash doubles it.
const FIRST_BACKOFF_MS: i64 = 1_000;
/// Longest backoff. It equals the tick interval: every minute, the tick requests the container.
const LONGEST_BACKOFF_MS: i64 = 60_000;
/// Bounds for the delay between two probes of a starting container: a quarter of the time so far.
const PROBE_DELAY_MS: (i64, i64) = (25, 2_000);
/// `Retry-After` while a container starts or ends.
pub const RETRY_AFTER_S: u32 = 2;

/// Tracks a single object's container.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lifecycle {
    phase: Phase,
    /// Crashes in a row.
    crashes: u32,
    /// Number of the current start. It grows with each start and each wake-up.
    start: u32,
    /// The running container's version.
    running: Option<String>,
    /// The version that the draining container makes room for.
    next: Option<String>,
    /// This Worker's version, which a container that starts now also gets.
    #[serde(skip)]
    version: String,
    #[serde(skip)]
    limits: Limits,
}

/// The state. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum Phase {
    /// No container is running.
    #[default]
    Down,
    /// Nothing runs, and no start before this time.
    Waiting { until: i64 },
    /// Started, not healthy yet.
    Starting { since: i64 },
    /// The container is healthy.
    Up { since: i64 },
    /// SIGTERM sent. Destroyed at this time.
    Ending { until: i64 },
    /// Destroyed, exit not observed yet. `again`: the next start follows at once.
    Dying { again: bool },
}

/// An event for the lifecycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The object woke up.
    Woke {
        /// It found a container.
        running: bool,
    },
    /// A request or the tick needs the container.
    Wanted,
    /// A probe of the container ended.
    Probed {
        /// Number of the container's start.
        start: u32,
        /// Whether the probe succeeded.
        healthy: bool,
    },
    /// The container has ended.
    Ended {
        /// Number of the container's start.
        start: u32,
        /// The exit code, if known.
        code: Option<i32>,
    },
    /// The monitor or the start failed, and the container runs nevertheless.
    MonitorLost {
        /// Number of the container's start.
        start: u32,
    },
    /// Someone authorized a restart.
    Restart {
        /// It ends a drain under way.
        force: bool,
    },
    /// The object's alarm fired.
    AlarmFired,
}

/// An action. Actions are executed in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Start the container with the current environment. A failed start is reported as an end.
    Start {
        /// Number of the container's start.
        start: u32,
    },
    /// Report the container's end.
    Monitor {
        /// Number of the container's start.
        start: u32,
    },
    /// Probe the container after a delay and report the result.
    Probe {
        /// Number of the container's start.
        start: u32,
        /// The delay in milliseconds.
        after: i64,
    },
    /// Send SIGTERM to the container.
    Signal,
    /// Send SIGKILL to the container.
    Destroy,
    /// Set the object's alarm.
    SetAlarm {
        /// Milliseconds since the epoch.
        at: i64,
    },
}

/// A decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The request may pass.
    Pass,
    /// It waits for the next change.
    Hold,
    /// 503 with this `Retry-After` in seconds.
    Refuse {
        /// When to retry, in seconds.
        retry_after: u32,
    },
}

impl Lifecycle {
    /// Restores a lifecycle from the stored text.
    ///
    /// Text with another shape counts as none: a container that runs then has an unknown version
    /// and is replaced.
    pub fn restore(stored: Option<&str>, version: &str, limits: Limits) -> Self {
        let stored: Self = stored
            .and_then(|stored| serde_json::from_str(stored).ok())
            .unwrap_or_default();
        Self {
            version: version.to_owned(),
            limits,
            ..stored
        }
    }

    /// Returns the text to store.
    pub fn stored(&self) -> String {
        // Plain data with string keys has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the decision about a request.
    pub fn verdict(&self, now: i64) -> Verdict {
        match self.phase {
            // A draining container still answers: health, pages, streams.
            Phase::Up { .. } | Phase::Ending { .. } => Verdict::Pass,
            Phase::Starting { .. } => Verdict::Hold,
            Phase::Down | Phase::Dying { .. } => Verdict::Refuse {
                retry_after: RETRY_AFTER_S,
            },
            Phase::Waiting { until } => {
                let seconds = u32::try_from((until - now + 999) / 1000).unwrap_or_default();
                Verdict::Refuse {
                    retry_after: seconds.max(1),
                }
            }
        }
    }

    /// Returns whether a container runs, as far as is known.
    pub fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Down | Phase::Waiting { .. })
    }

    /// Applies an event and returns the actions it requires.
    pub fn step(&mut self, input: Input, now: i64) -> Vec<Action> {
        match input {
            Input::Woke { running: true } => self.found(now),
            Input::Woke { running: false } => self.found_nothing(now),
            Input::Wanted => self.wanted(now),
            Input::Probed { start, healthy } if start == self.start => self.looked(healthy, now),
            Input::Ended { start, code } if start == self.start => self.ended(code, now),
            Input::MonitorLost { start } if start == self.start => self.found(now),
            Input::Probed { .. } | Input::Ended { .. } | Input::MonitorLost { .. } => Vec::new(),
            Input::Restart { force } => self.restart(force, now),
            Input::AlarmFired => self.rang(now),
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
        vec![
            Action::Start { start },
            Action::Monitor { start },
            Action::Probe {
                start,
                after: PROBE_DELAY_MS.0,
            },
        ]
    }

    /// Adopts a container from an earlier wake-up, under a new number: reports under the old number
    /// are ignored.
    fn found(&mut self, now: i64) -> Vec<Action> {
        self.start = self.start.wrapping_add(1);
        let start = self.start;
        let mut actions = vec![Action::Monitor { start }];
        let is_ours = self.running.as_ref() == Some(&self.version);
        match self.phase {
            Phase::Dying { again } => actions.extend(self.destroy(again, now)),
            Phase::Ending { .. } if self.next.as_ref() != Some(&self.version) => {
                actions.extend(self.destroy(true, now));
            }
            // The signal may not have arrived. A second signal has no effect.
            Phase::Ending { until } => {
                actions.extend([Action::Signal, Action::SetAlarm { at: until }]);
            }
            // It has no requests, and may not handle a signal yet.
            Phase::Starting { .. } if !is_ours => actions.extend(self.destroy(true, now)),
            _ if !is_ours => actions.extend(self.end(now)),
            Phase::Up { .. } => {}
            Phase::Starting { .. } => actions.push(Action::Probe { start, after: 0 }),
            Phase::Down | Phase::Waiting { .. } => {
                self.phase = Phase::Starting { since: now };
                actions.push(Action::Probe { start, after: 0 });
            }
        }
        actions
    }

    /// Handles an end that no monitor observed; it does not count as a crash, because it may be none.
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
        let Phase::Starting { since } = self.phase else {
            return Vec::new();
        };
        let start = self.start;
        match now - since {
            _ if healthy => {
                self.phase = Phase::Up { since: now };
                Vec::new()
            }
            waited if waited >= self.limits.start_ms => self.destroy(false, now),
            waited => {
                vec![Action::Probe {
                    start,
                    after: (waited / 4).clamp(PROBE_DELAY_MS.0, PROBE_DELAY_MS.1),
                }]
            }
        }
    }

    fn ended(&mut self, code: Option<i32>, now: i64) -> Vec<Action> {
        self.running = None;
        match self.phase {
            // A restart: the next start follows at once.
            Phase::Ending { .. } | Phase::Dying { again: true } => {
                self.crashes = 0;
                self.begin(now)
            }
            // The platform stopped it with SIGTERM: not a crash.
            Phase::Up { .. } if code == Some(0) => {
                self.phase = Phase::Down;
                Vec::new()
            }
            Phase::Up { since } => {
                if now - since >= self.limits.stable_ms {
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
            crashes => Phase::Waiting {
                until: now + backoff(crashes),
            },
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
            Phase::Ending { until } => vec![Action::SetAlarm { at: until }],
            // The destruction failed, or the report was lost.
            Phase::Dying { again } => self.destroy(again, now),
            _ => Vec::new(),
        }
    }

    fn end(&mut self, now: i64) -> Vec<Action> {
        let until = now + self.limits.drain_ms + self.limits.grace_ms;
        self.phase = Phase::Ending { until };
        self.next = Some(self.version.clone());
        vec![Action::Signal, Action::SetAlarm { at: until }]
    }

    fn destroy(&mut self, again: bool, now: i64) -> Vec<Action> {
        self.phase = Phase::Dying { again };
        vec![
            Action::Destroy,
            Action::SetAlarm {
                at: now + DESTROY_TIMEOUT_MS,
            },
        ]
    }
}

/// Returns the backoff after this many crashes in a row.
fn backoff(crashes: u32) -> i64 {
    let doublings = crashes.saturating_sub(2).min(16);
    (FIRST_BACKOFF_MS << doublings).min(LONGEST_BACKOFF_MS)
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
