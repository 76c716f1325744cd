//! Requests of the engine.

use ars_types::RunId;
use serde::{Deserialize, Serialize};

use super::credential::{GitCredential, SecretText};
use crate::names::BackupId;
use crate::plan::PlanStep;

/// The work to which a step belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// A step of a cycle. A newer attempt ends the steps of older ones, which start no more.
    Cycle {
        /// Attempt.
        attempt: u64,
    },
    /// A step of a thread or of an operation.
    Request {
        /// Number, unique for the life of the engine's object.
        id: u64,
    },
}

/// A step, and the values that are in no argument of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// The work to which the step belongs.
    pub job: Job,
    /// The step.
    pub step: PlanStep,
    /// Its input.
    #[serde(default)]
    pub input: StepInput,
    /// Timeout of the wait for the lock of the mirror. Without one, only the step's own timeout counts.
    #[serde(default)]
    pub lock_wait_ms: Option<i64>,
}

/// Input of a step. Each operation accepts one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum StepInput {
    /// No input.
    #[default]
    None,
    /// Of `Git` with a credential, and of `WriteCredential`.
    Credential(GitCredential),
    /// Of `WriteFile`.
    Content {
        /// Content.
        text: SecretText,
    },
    /// Of `Archive`.
    Upload {
        /// Id of the archive.
        backup: BackupId,
        /// Target.
        to: Transfer,
    },
    /// Of `Extract` and `AdoptDeps`. `AdoptDeps` without it only uses an entry that is there.
    Download {
        /// Source.
        from: Transfer,
        /// SHA-256 of the archive, in hexadecimal digits, if it is known.
        sha256: Option<String>,
    },
    /// Of `Checkpoint`.
    Checkpoint {
        /// The run that made the work. Without one, the name of the thread's folder takes its place.
        run: Option<RunId>,
    },
}

/// The way of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Transfer {
    /// The daemon sends a PUT or GET with these headers.
    Url {
        /// An address of HTTP or HTTPS. It may contain a signature, so it counts as a secret.
        url: SecretText,
        /// Headers.
        #[serde(default)]
        headers: Vec<Header>,
    },
    /// The engine reads or writes it at [`super::TRANSFERS_PATH`]: after an archive, before an extraction.
    Engine,
}

/// A header of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Name.
    pub name: String,
    /// Value.
    pub value: SecretText,
}

/// Ends steps and fences them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// A cycle's attempt includes all older ones. A request is this one only.
    pub job: Job,
}
