//! Reads the state: admission, status, and the facts that others show.

use ars_types::UnixMillis;

use super::{Admission, Facts, LastRestore, NOTHING_PERSISTED, Resident, Schedules, Slot};
use crate::lifecycle::cycle::Cycle;
use crate::lifecycle::reason::{DegradedCause, Stage, StateWord};
use crate::names::RuntimeId;
use crate::refusal::Refusal;
use crate::snapshot::Snapshot;

impl Resident {
    /// Decides about a request on the tree, given the container that runs now.
    pub fn admission(&self, running: Option<&RuntimeId>) -> Admission {
        let Some(stage) = self.stage.as_ref().filter(|_| self.teardown.is_none()) else {
            return Admission::Reject(Refusal::not_serviceable(StateWord::Down, NOTHING_PERSISTED));
        };
        match stage {
            Stage::Onboarding | Stage::Down(_) => {
                let reason = stage.reason().unwrap_or_else(|| "provisioning".to_owned());
                Admission::Reject(Refusal::not_serviceable(stage.word(), &reason))
            }
            Stage::Restoring => Admission::Wait,
            Stage::Degraded(reason) if *reason.cause() == DegradedCause::DiskFull => {
                Admission::Reject(Refusal::not_serviceable(stage.word(), &reason.to_string()))
            }
            Stage::Warm | Stage::Refreshing | Stage::Degraded(_) => {
                let is_verified = running.is_some() && self.verified.as_ref() == running;
                if is_verified {
                    Admission::Serve
                } else {
                    Admission::Verify
                }
            }
        }
    }

    /// Returns the state's word and its reason. An object without state is down.
    pub fn status(&self) -> (StateWord, Option<String>) {
        match &self.stage {
            Some(stage) => (stage.word(), stage.reason()),
            None => (StateWord::Down, Some(NOTHING_PERSISTED.to_owned())),
        }
    }

    /// Returns the state, or `None` for an object without one.
    pub const fn stage(&self) -> Option<&Stage> {
        self.stage.as_ref()
    }

    /// Returns the facts about the warm tree.
    pub const fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }

    /// Returns the snapshot from which a restore would start.
    pub const fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Returns the cycle in progress.
    pub const fn cycle(&self) -> Option<&Cycle> {
        self.cycle.as_ref()
    }

    /// Returns the schedules.
    pub const fn schedules(&self) -> Schedules {
        self.schedules
    }

    /// Returns the state of the registry row.
    pub const fn slot(&self) -> Slot {
        self.slot
    }

    /// Returns the time of the last change of the state.
    pub const fn updated_at(&self) -> UnixMillis {
        self.updated_at
    }

    /// Returns the last error of a refresh, of a mint, or of a recycling.
    pub fn last_refresh_error(&self) -> Option<&str> {
        self.last_refresh_error.as_deref()
    }

    /// Returns the last restore that succeeded.
    pub const fn last_restore(&self) -> Option<LastRestore> {
        self.last_restore
    }

    /// Returns the time since which refreshes are skipped because the resident is idle.
    pub const fn idle_since(&self) -> Option<UnixMillis> {
        self.idle_since
    }

    /// Returns the passes of the watchdog that found the resident down.
    pub const fn strikes(&self) -> u32 {
        self.strikes
    }

    /// Returns whether the object holds no state any more.
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }
}
