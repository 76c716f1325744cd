//! Events from a step in progress, and the end.

use serde::{Deserialize, Deserializer, Serialize};

use super::answer::Answer;
use crate::document::{tagged, unknown_tag};
use crate::lifecycle::Failure;

/// Interval at which a step in progress sends an event.
pub const HEARTBEAT_INTERVAL_MS: i64 = 5_000;

/// A line in the response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum StepEvent {
    /// The step is in progress.
    Heartbeat,
    /// Bytes in an archive and in the target so far.
    Progress {
        /// Number of bytes so far.
        bytes: u64,
    },
    /// The step has ended.
    Ended(StepEnd),
}

impl<'de> Deserialize<'de> for StepEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer, "event", |tag, mut fields| match tag {
            "heartbeat" => Ok(Self::Heartbeat),
            "progress" => Ok(Self::Progress {
                bytes: fields.take("bytes")?,
            }),
            "ended" => Ok(Self::Ended(fields.rest()?)),
            _ => unknown_tag(tag),
        })
    }
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnd {
    /// The answer or the failure.
    pub result: Result<Answer, StepFailure>,
    /// How long the step waited for the mirror lock.
    pub lock_wait_ms: i64,
    /// How long the step took, including the wait.
    pub duration_ms: i64,
}

/// A failure class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// A program ended with another exit code than 0.
    Exit,
    /// The step's timeout ended it.
    Timeout,
    /// A cancellation ended it.
    Cancelled,
    /// A newer attempt or a cancellation fenced it out. It did not start.
    Fenced,
    /// The mirror lock was not free in time.
    LockTimeout,
    /// The disk is full.
    NoSpace,
    /// The path, the store entry or the commit does not exist.
    NotFound,
    /// The step or the input is invalid.
    Invalid,
    /// An archive could not be sent or received.
    Transfer,
    /// An archive is damaged, or contains a path outside the folder.
    Corrupt,
    /// The machine has no file descriptors, processes or memory left at this moment.
    Exhausted,
    /// A fault in the daemon or the machine.
    Internal,
}

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFailure {
    /// Class of the failure.
    pub kind: FailureKind,
    /// Exit code, if a program ended.
    pub exit_code: Option<i32>,
    /// Free space after the failure, if it could be read.
    pub free_kib: Option<u64>,
    /// The program's standard output.
    pub stdout: String,
    /// The program's error output, or the failure text.
    pub stderr: String,
}

impl StepFailure {
    /// Makes a failure without a program's output.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            exit_code: None,
            free_kib: None,
            stdout: String::new(),
            stderr: text.into(),
        }
    }
}

impl From<StepFailure> for Failure {
    fn from(failure: StepFailure) -> Self {
        let StepFailure {
            kind,
            exit_code,
            free_kib,
            stdout,
            stderr,
        } = failure;
        let timed_out = kind == FailureKind::Timeout;
        Self {
            exit_code,
            timed_out,
            runtime_replaced: false,
            free_kib,
            stdout,
            stderr,
        }
    }
}

impl StepEnd {
    /// Returns the result as a cycle takes it: a command that failed makes the step fail.
    ///
    /// # Errors
    /// The failure of the step or the command.
    pub fn for_cycle(self) -> Result<Answer, Failure> {
        match self.result {
            Ok(Answer::Command(end)) if end.exit_code != 0 || end.timed_out => Err(Failure {
                exit_code: Some(end.exit_code),
                timed_out: end.timed_out,
                runtime_replaced: false,
                free_kib: end.free_kib,
                stdout: end.stdout,
                stderr: end.stderr,
            }),
            Ok(answer) => Ok(answer),
            Err(failure) => Err(failure.into()),
        }
    }
}
