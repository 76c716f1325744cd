//! Routes beside the steps: status, cancellation, measurements, transfers.

use serde::{Deserialize, Serialize};

use super::request::Job;
use crate::names::{RuntimeId, StrictThreadKey};

/// `POST`: a [`super::StepRequest`]; answers lines of [`super::StepEvent`].
pub const STEPS_PATH: &str = "/v1/steps";
/// `POST`: a [`super::CancelRequest`]; answers a [`CancelAnswer`] after the processes ended.
pub const CANCEL_PATH: &str = "/v1/cancel";
/// `GET`: answers a [`Status`].
pub const STATUS_PATH: &str = "/v1/status";
/// `POST`: a [`DiskRequest`]; answers a [`crate::disk::Sample`].
pub const DISK_PATH: &str = "/v1/disk";
/// `GET`, `PUT`, `DELETE` below it, with the id of an archive: its bytes ([`super::Transfer::Engine`]).
pub const TRANSFERS_PATH: &str = "/v1/transfers";

/// State of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The disk. A new container has another one.
    pub runtime: RuntimeId,
    /// Build stamp.
    pub build: String,
    /// Users of the pool that exist. A stale image has fewer.
    pub pool_users: u8,
    /// The newest attempt that is fenced out.
    pub fenced_attempt: u64,
    /// Steps in progress.
    pub running: Vec<RunningStep>,
}

/// A step in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningStep {
    /// The work to which it belongs.
    pub job: Job,
    /// Name of the step.
    pub name: String,
    /// Time since its start.
    pub elapsed_ms: i64,
}

/// Result of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelAnswer {
    /// Steps that were ended.
    pub ended: u32,
}

/// A measurement of the disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskRequest {
    /// Threads with trees to measure one by one.
    pub threads: Vec<StrictThreadKey>,
}
