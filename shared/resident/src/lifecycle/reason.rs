//! The states and their reasons. A degraded or down state cannot exist without a reason.

use std::fmt;

use ars_events::clean;
use serde::{Deserialize, Serialize};

use super::protocol::Step;

/// Maximum length of a reason's text in characters.
const REASON_MAX_CHARS: usize = 1_000;

/// A resident's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "reason", rename_all = "lowercase")]
pub enum Stage {
    /// Provisioning is under way.
    Onboarding,
    /// Ready to serve threads.
    Warm,
    /// A refresh changes mirror and checkout. Threads are served.
    Refreshing,
    /// The container's disk is filled from the snapshot.
    Restoring,
    /// The last refresh failed, and the last snapshot serves.
    Degraded(Reason<DegradedCause>),
    /// The resident serves nothing.
    Down(Reason<DownCause>),
}

/// A state's word on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateWord {
    /// Provisioning is under way.
    Onboarding,
    /// Ready to serve threads.
    Warm,
    /// A refresh is running.
    Refreshing,
    /// A restore is running.
    Restoring,
    /// The last refresh failed.
    Degraded,
    /// The resident serves nothing.
    Down,
}

/// A cause with details, cleaned of secrets and control sequences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason<C> {
    cause: C,
    detail: String,
}

/// Why a resident is degraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DegradedCause {
    /// The fetch from the code host failed.
    HostUnreachable,
    /// Another refresh step failed.
    StepFailed(Step),
    /// The container was replaced or killed during the refresh.
    Interrupted,
    /// The disk is full.
    DiskFull,
    /// The refresh schedule was missing.
    AlarmMissed,
    /// A cycle stopped without a result.
    StaleMidFlight,
}

/// Why a resident is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DownCause {
    /// A provisioning step failed.
    ProvisionFailed(Step),
    /// Provisioning exceeded the budget.
    ProvisionTimeout,
    /// The restore failed or stalled.
    RestoreFailed,
    /// The restored tree does not match the stamp.
    StampMismatch,
    /// There is no snapshot to restore.
    NoSnapshot,
}

impl<C: fmt::Display> Reason<C> {
    /// Makes a reason. The detail is cleaned and capped.
    pub fn new(cause: C, detail: &str) -> Self {
        Self {
            cause,
            detail: clean(detail, REASON_MAX_CHARS),
        }
    }

    /// Returns why the state was entered.
    pub const fn cause(&self) -> &C {
        &self.cause
    }
}

impl<C: fmt::Display> fmt::Display for Reason<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = if self.detail.is_empty() {
            "no details"
        } else {
            &self.detail
        };
        write!(f, "{}: {detail}", self.cause)
    }
}

impl fmt::Display for DegradedCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostUnreachable => f.write_str("github-unreachable"),
            Self::StepFailed(step) => write!(f, "{}-failed", step.as_str()),
            Self::Interrupted => f.write_str("refresh-interrupted"),
            Self::DiskFull => f.write_str("disk-full"),
            Self::AlarmMissed => f.write_str("alarm-missed"),
            Self::StaleMidFlight => f.write_str("stale-mid-flight"),
        }
    }
}

impl fmt::Display for DownCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProvisionFailed(step) => write!(f, "provision-failed at {}", step.as_str()),
            Self::ProvisionTimeout => f.write_str("provision-timeout"),
            Self::RestoreFailed => f.write_str("r2-restore-failed"),
            Self::StampMismatch => f.write_str("snapshot-stamp-mismatch"),
            Self::NoSnapshot => f.write_str("no-snapshot"),
        }
    }
}

impl DegradedCause {
    /// Returns whether a refresh produced the cause. Only such a cause counts towards parking.
    pub const fn is_from_refresh(self) -> bool {
        matches!(
            self,
            Self::HostUnreachable | Self::StepFailed(_) | Self::DiskFull
        )
    }

    /// The causes with which agents start on the resident nevertheless.
    pub const SERVICEABLE: [Self; 2] = [Self::HostUnreachable, Self::AlarmMissed];
}

impl DownCause {
    /// Returns whether a rebuild from the code host can mend it without a person.
    pub const fn is_rehydration(self) -> bool {
        matches!(
            self,
            Self::RestoreFailed | Self::StampMismatch | Self::NoSnapshot
        )
    }
}

impl Stage {
    /// Returns the state's word.
    pub const fn word(&self) -> StateWord {
        match self {
            Self::Onboarding => StateWord::Onboarding,
            Self::Warm => StateWord::Warm,
            Self::Refreshing => StateWord::Refreshing,
            Self::Restoring => StateWord::Restoring,
            Self::Degraded(_) => StateWord::Degraded,
            Self::Down(_) => StateWord::Down,
        }
    }

    /// Returns the reason. Degraded, down and restoring states have a reason.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Onboarding | Self::Warm | Self::Refreshing => None,
            Self::Restoring => Some("rehydrating".to_owned()),
            Self::Degraded(reason) => Some(reason.to_string()),
            Self::Down(reason) => Some(reason.to_string()),
        }
    }
}

impl StateWord {
    /// Returns the wire word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Onboarding => "onboarding",
            Self::Warm => "warm",
            Self::Refreshing => "refreshing",
            Self::Restoring => "restoring",
            Self::Degraded => "degraded",
            Self::Down => "down",
        }
    }
}
