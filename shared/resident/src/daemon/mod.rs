//! The daemon's interface in a resident's container, which performs plan steps.
//!
//! HTTP/1.1 with a single bearer. `POST /v1/steps` with a [`StepRequest`] returns JSON lines, each
//! a [`StepEvent`]; the last is [`StepEvent::Ended`]. The step ends with the connection, so an
//! abandoned request leaves no process. Not here: the plans (`plan`), and how steps are performed
//! (`containers/resident/sandboxd`).

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
    CANCEL_PATH, CancelResponse, DISK_PATH, DiskRequest, RunningStep, STATUS_PATH, STEPS_PATH,
    Status, TRANSFERS_PATH,
};
