//! Operations that `POST /debug` offers.

use serde::{Deserialize, Serialize};

use super::routes::Credential;
use crate::names::{KeyNamespace, Resource, StrictThreadKey};
use crate::refusal::{Refusal, Token};
use crate::registry::TestOverrides;

/// Most days by which a binding can be backdated.
const BACKDATE_MAX_DAYS: u32 = 3_650;

/// An operation for debugging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DebugOp {
    /// Return the engine view.
    Info,
    /// Return the pending schedules.
    Schedules,
    /// Cancel the refresh schedule.
    KillRefresh,
    /// Refresh the resident at once.
    RefreshNow,
    /// Stop the resident's container.
    StopContainer,
    /// Set the state, arm nothing.
    ForceOnboarding,
    /// Mint a token and discard it.
    MintToken,
    /// Run a watchdog pass.
    RunWatchdog,
    /// Set the state to down.
    ForceDown,
    /// Return the threads' bindings.
    Threads,
    /// Backdate a thread's binding.
    BackdateThread,
    /// Run the sweep at once.
    SweepNow,
    /// Remove a namespace's bindings.
    PurgeBindings,
    /// Evict threads on finished refs.
    ReclaimNow,
    /// Lower limits for tests.
    SetTestOverrides,
    /// Measure the resident's disk.
    MeasureDisk,
}

impl DebugOp {
    /// Every operation, in order.
    pub const ALL: [Self; 16] = [
        Self::Info,
        Self::Schedules,
        Self::KillRefresh,
        Self::RefreshNow,
        Self::StopContainer,
        Self::ForceOnboarding,
        Self::MintToken,
        Self::RunWatchdog,
        Self::ForceDown,
        Self::Threads,
        Self::BackdateThread,
        Self::SweepNow,
        Self::PurgeBindings,
        Self::ReclaimNow,
        Self::SetTestOverrides,
        Self::MeasureDisk,
    ];

    /// Returns the wire word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Schedules => "schedules",
            Self::KillRefresh => "kill-refresh",
            Self::RefreshNow => "refresh-now",
            Self::StopContainer => "stop-container",
            Self::ForceOnboarding => "force-onboarding",
            Self::MintToken => "mint-token",
            Self::RunWatchdog => "run-watchdog",
            Self::ForceDown => "force-down",
            Self::Threads => "threads",
            Self::BackdateThread => "backdate-thread",
            Self::SweepNow => "sweep-now",
            Self::PurgeBindings => "purge-bindings",
            Self::ReclaimNow => "reclaim-now",
            Self::SetTestOverrides => "set-test-overrides",
            Self::MeasureDisk => "measure-disk",
        }
    }

    /// Returns whether the read token may run the operation.
    pub const fn is_pure_read(self) -> bool {
        matches!(self, Self::Info | Self::Schedules | Self::Threads)
    }
}

/// An operation that passed validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugRequest {
    /// On a single resident, without parameters.
    Resident {
        /// The operation to perform.
        op: DebugOp,
        /// The resident's resource id.
        resource: Resource,
    },
    /// Operation `force-down` on a resident.
    ForceDown {
        /// The resident's resource id.
        resource: Resource,
        /// Text for the reason.
        reason: Option<String>,
    },
    /// Operation `backdate-thread` on a resident.
    Backdate {
        /// The resident's resource id.
        resource: Resource,
        /// The thread to backdate.
        thread_key: StrictThreadKey,
        /// By how many days.
        days: u32,
    },
    /// Operation `purge-bindings` on a resident.
    Purge {
        /// The resident's resource id.
        resource: Resource,
        /// The namespace to purge.
        prefix: KeyNamespace,
    },
    /// Operation `run-watchdog` on all residents.
    Watchdog,
    /// Operation `set-test-overrides` on the registry.
    Overrides(TestOverrides),
}

#[derive(Deserialize)]
struct Named {
    resource: Resource,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Backdated {
    resource: Resource,
    thread_key: StrictThreadKey,
    days: u32,
}

#[derive(Deserialize)]
struct Purged {
    resource: Resource,
    prefix: KeyNamespace,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Overridden {
    cap: Option<u32>,
    floor_s: Option<u32>,
}

impl DebugRequest {
    /// Parses a body. The read token is rejected before the fields are validated.
    ///
    /// # Errors
    /// 400 for an unknown operation or an invalid field, 403 for the read token.
    pub fn parse(text: &str, credential: Credential, build: &str) -> Result<Self, Refusal> {
        let body = serde_json::from_str::<serde_json::Value>(text).unwrap_or_default();
        let word = body
            .get("op")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default();
        let op = DebugOp::ALL.into_iter().find(|op| op.as_str() == word);
        if credential == Credential::Read && !op.is_some_and(DebugOp::is_pure_read) {
            return Err(Refusal::new(
                Token::Forbidden,
                "the read token runs info, schedules and threads only",
            ));
        }
        let Some(op) = op else {
            let words: Vec<&str> = DebugOp::ALL.iter().map(|op| op.as_str()).collect();
            return Err(Refusal::new(
                Token::Invalid,
                &format!("op must be one of {}", words.join(", ")),
            ));
        };
        match op {
            DebugOp::RunWatchdog => Ok(Self::Watchdog),
            DebugOp::SetTestOverrides => {
                let Overridden { cap, floor_s } = super::parse_body(text)?;
                TestOverrides::new(cap, floor_s, build).map(Self::Overrides)
            }
            DebugOp::ForceDown => {
                let Named { resource, reason } = super::parse_body(text)?;
                Ok(Self::ForceDown { resource, reason })
            }
            DebugOp::BackdateThread => {
                let Backdated {
                    resource,
                    thread_key,
                    days,
                } = super::parse_body(text)?;
                if !(1..=BACKDATE_MAX_DAYS).contains(&days) {
                    return Err(Refusal::new(
                        Token::Invalid,
                        &format!("days must be 1 to {BACKDATE_MAX_DAYS}"),
                    ));
                }
                Ok(Self::Backdate {
                    resource,
                    thread_key,
                    days,
                })
            }
            DebugOp::PurgeBindings => {
                let Purged { resource, prefix } = super::parse_body(text)?;
                if prefix.is_production() {
                    return Err(Refusal::new(
                        Token::Invalid,
                        "prefix must not be a namespace of real threads",
                    ));
                }
                Ok(Self::Purge { resource, prefix })
            }
            op => {
                let Named { resource, .. } = super::parse_body(text)?;
                Ok(Self::Resident { op, resource })
            }
        }
    }
}
