//! Routes beside the steps: status, cancellation, measurements, transfers.

use serde::{Deserialize, Serialize};

use super::request::Job;
use crate::names::{RuntimeId, StrictThreadKey};

/// `POST`: a [`super::StepRequest`]; returns [`super::StepEvent`] lines.
pub const STEPS_PATH: &str = "/v1/steps";
/// `POST`: a [`super::CancelRequest`]; answers a [`CancelResponse`] after the processes ended.
pub const CANCEL_PATH: &str = "/v1/cancel";
/// `GET`: answers a [`Status`].
pub const STATUS_PATH: &str = "/v1/status";
/// `POST`: a [`DiskRequest`]; answers a [`crate::disk::Sample`].
pub const DISK_PATH: &str = "/v1/disk";
/// `GET`, `PUT`, `DELETE` below it, with an archive id: the bytes ([`super::Transfer::Engine`]).
pub const TRANSFERS_PATH: &str = "/v1/transfers";

/// The daemon's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The disk. A new container has another disk.
    pub runtime: RuntimeId,
    /// The daemon's build stamp.
    pub build: String,
    /// Number of existing pool users. A stale image has fewer.
    pub pool_users: u8,
    /// The newest attempt that is fenced out.
    pub fenced_attempt: u64,
    /// Steps that are in progress.
    pub running: Vec<RunningStep>,
}

/// A step in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningStep {
    /// The work to which it belongs.
    pub job: Job,
    /// Name of the step.
    pub name: String,
    /// Time since the step started.
    pub elapsed_ms: i64,
}

/// What a cancellation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelResponse {
    /// Steps that were ended.
    pub ended: u32,
}

/// A disk measurement.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskRequest {
    /// Threads whose trees are measured individually.
    pub threads: Vec<StrictThreadKey>,
}
