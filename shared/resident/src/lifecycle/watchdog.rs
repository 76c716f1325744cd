//! The watchdog: a pass over the stored state that mends broken schedules. It starts no container.

use ars_types::UnixMillis;

use super::machine::{REFRESH_INTERVAL_MS, Resident, Slot};
use super::protocol::{Action, WatchdogAction};
use super::reason::{DegradedCause, Stage};

/// How long after the provisioning deadline the watchdog ends it.
const PROVISION_GRACE_MS: i64 = 30_000;
/// Age from which a refresh or restore without progress counts as dead.
const STALE_MIN_MS: i64 = 1_800_000;
/// Delay for a schedule that the watchdog sets.
const REARM_DELAY_MS: i64 = 5_000;
/// Passes that find a resident down before it is rebuilt.
const STRIKES_MAX: u32 = 3;

impl Resident {
    /// Performs a pass and returns the result with the required actions.
    pub(super) fn watchdog(
        &mut self,
        is_running: bool,
        now: UnixMillis,
    ) -> (WatchdogAction, Vec<Action>) {
        match &self.stage {
            None => (WatchdogAction::None, Vec::new()),
            Some(Stage::Onboarding) => self.watch_provisioning(now),
            Some(Stage::Down(reason)) => {
                let is_mendable = reason.cause().is_rehydration() && self.slot == Slot::Held;
                self.watch_down(is_mendable, now)
            }
            Some(Stage::Refreshing | Stage::Restoring) => self.watch_cycle(is_running, now),
            Some(Stage::Warm | Stage::Degraded(_)) => {
                self.strikes = 0;
                self.watch_chain(now)
            }
        }
    }

    /// Returns what a pass would do.
    pub fn watchdog_verdict(&self, is_running: bool, now: UnixMillis) -> WatchdogAction {
        self.clone().watchdog(is_running, now).0
    }

    fn watch_provisioning(&mut self, now: UnixMillis) -> (WatchdogAction, Vec<Action>) {
        let timeout = self
            .config
            .as_ref()
            .map_or(0, |config| config.provisioning_timeout_ms);
        let deadline = self
            .schedules
            .provision_deadline
            .unwrap_or(self.updated_at + timeout);
        if now >= deadline + PROVISION_GRACE_MS {
            return (
                WatchdogAction::ProvisionTimedOut,
                self.provision_timed_out(now),
            );
        }
        (WatchdogAction::None, Vec::new())
    }

    fn watch_down(&mut self, is_mendable: bool, now: UnixMillis) -> (WatchdogAction, Vec<Action>) {
        if !is_mendable {
            return (WatchdogAction::None, Vec::new());
        }
        self.strikes += 1;
        if self.strikes < STRIKES_MAX {
            return (WatchdogAction::None, Vec::new());
        }
        (WatchdogAction::AutoRebuilt, self.begin_provisioning(now))
    }

    fn watch_cycle(&mut self, is_running: bool, now: UnixMillis) -> (WatchdogAction, Vec<Action>) {
        let touched = self.cycle.as_ref().map_or(self.updated_at, |cycle| {
            cycle.touched_at.max(self.updated_at)
        });
        if !is_running && now - touched > STALE_MIN_MS {
            let step = self
                .cycle
                .as_ref()
                .map_or("no step", |cycle| cycle.step.as_str());
            let detail = format!("no progress for 30 minutes at {step}");
            let actions = self.drop_cycle();
            self.degrade(DegradedCause::StaleMidFlight, &detail, now);
            self.schedules.refresh = Some(now + REARM_DELAY_MS);
            return (WatchdogAction::Rearmed, actions);
        }
        if self.schedules.refresh.is_none() {
            self.schedules.refresh = Some(now + REARM_DELAY_MS);
            return (WatchdogAction::Rearmed, Vec::new());
        }
        (WatchdogAction::None, Vec::new())
    }

    fn watch_chain(&mut self, now: UnixMillis) -> (WatchdogAction, Vec<Action>) {
        if self.cycle.is_some() {
            return (WatchdogAction::None, Vec::new());
        }
        let is_dead = self
            .schedules
            .refresh
            .is_none_or(|at| now - at > REFRESH_INTERVAL_MS);
        if !is_dead {
            return (WatchdogAction::None, Vec::new());
        }
        let before = match &self.stage {
            Some(Stage::Degraded(reason)) => format!("; before: {reason}"),
            _ => String::new(),
        };
        self.schedules.refresh = Some(now + REARM_DELAY_MS);
        self.degrade(
            DegradedCause::AlarmMissed,
            &format!("the refresh schedule was missing{before}"),
            now,
        );
        (WatchdogAction::Rearmed, Vec::new())
    }
}
