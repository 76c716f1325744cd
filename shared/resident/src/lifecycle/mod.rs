//! A resident's lifecycle as a sans-IO state machine: `step(input, now) -> actions`.
//!
//! The object stores [`Resident`] in the write that applies an input, and performs the actions
//! afterwards, in order. Every action may be lost, repeated or answered twice:
//!
//! - **Steps are fenced.** [`Action::RunStep`] carries an attempt. A result from an older attempt
//!   changes no state; the backups it wrote are deleted.
//! - **Steps are leased.** A step runs again after the lease expired or the object was replaced.
//!   Steps are idempotent.
//! - **Alarms derive from the state.** Each action list ends with the next alarm, so no chain can
//!   break.
//! - **Deletions, releases and teardown are retried** until they are confirmed.
//!
//! A tree is served only if its stamp was verified for the container that runs now. See
//! docs/reference/residents.md#states. Not here: a step's commands (`plan`).

mod classify;
mod cycle;
mod machine;
mod protocol;
mod provision;
mod reason;
mod refresh;
mod restore;
mod save;
mod teardown;
mod watchdog;

pub use classify::{FailureClass, classify, failure_text};
pub use cycle::{Cycle, CycleKind};
pub use machine::{Admission, Facts, LastRestore, REFRESH_INTERVAL_MS, Resident, Schedules, Slot};
pub use protocol::{
    Action, Config, Failure, Input, Inspection, Markers, Output, Step, TeardownPart, TreesState,
    WatchdogAction,
};
pub use reason::{DegradedCause, DownCause, Reason, Stage, StateWord};
pub use refresh::{RefreshPlan, plan_refresh};
