//! The interface of the daemon in a resident's container, which performs the steps of plans.
//!
//! HTTP/1.1 with one bearer. `POST /v1/steps` with a [`StepRequest`] answers JSON lines, each a [`StepEvent`]; the last
//! one is [`StepEvent::Ended`]. The step ends with its connection, so an abandoned request leaves no process.
//! Not here: the plans (`plan`), and how steps are performed (`containers/resident/sandboxd`).

mod answer;
mod credential;
mod event;
mod request;
mod status;

#[cfg(test)]
mod daemon_tests;

pub use answer::{Answer, CommandEnd, DiskState, Materialised, RefusedHost, SavedCheckpoint};
pub use credential::{GitCredential, SecretText};
pub use event::{FailureKind, HEARTBEAT_INTERVAL_MS, StepEnd, StepEvent, StepFailure};
pub use request::{CancelRequest, Header, Job, StepInput, StepRequest, Transfer};
pub use status::{
    CANCEL_PATH, CancelAnswer, DISK_PATH, DiskRequest, RunningStep, STATUS_PATH, STEPS_PATH,
    Status, TRANSFERS_PATH,
};
