//! Requests from the engine.

use ars_types::RunId;
use serde::{Deserialize, Serialize};

use super::credential::{GitCredential, SecretText};
use crate::names::BackupId;
use crate::plan::PlanStep;

/// The work to which a step belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// A cycle step. A newer attempt ends older attempts' steps, which start no more.
    Cycle {
        /// Number of the attempt.
        attempt: u64,
    },
    /// A step for a thread or an operation.
    Request {
        /// Number, unique for the life of the engine's object.
        id: u64,
    },
}

/// A step, and the values that no program argument contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// The work to which the step belongs.
    pub job: Job,
    /// The step to perform.
    pub step: PlanStep,
    /// Input for the step.
    #[serde(default)]
    pub input: StepInput,
    /// Timeout for waiting on the mirror lock. Without it, only the step's own timeout counts.
    #[serde(default)]
    pub lock_wait_ms: Option<i64>,
}

/// A step's input. Each operation accepts a single kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum StepInput {
    /// The step takes no input.
    #[default]
    None,
    /// For `Git` with a credential, and for `WriteCredential`.
    Credential(GitCredential),
    /// Input for `WriteFile`.
    Content {
        /// Content to write.
        text: SecretText,
    },
    /// Input for `Archive`.
    Upload {
        /// Id of the archive.
        backup: BackupId,
        /// Where the archive goes.
        to: Transfer,
    },
    /// Input for `Extract` and `AdoptDeps`. `AdoptDeps` without it only uses an existing entry.
    Download {
        /// Where the archive comes from.
        from: Transfer,
        /// The archive's SHA-256 in hexadecimal digits, if it is known.
        sha256: Option<String>,
    },
    /// Input for `Checkpoint`.
    Checkpoint {
        /// The run that made the work. Without it, the thread folder's name takes its place.
        run: Option<RunId>,
    },
}

/// How an archive travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Transfer {
    /// The daemon sends a PUT or GET with these headers.
    Url {
        /// An HTTP or HTTPS address. It may contain a signature, so it counts as a secret.
        url: SecretText,
        /// Headers for the transfer.
        #[serde(default)]
        headers: Vec<Header>,
    },
    /// The engine reads or writes it at [`super::TRANSFERS_PATH`]: after an archive, before an extraction.
    Engine,
}

/// A transfer header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Name of the header.
    pub name: String,
    /// Value, which may be secret.
    pub value: SecretText,
}

/// Ends steps and fences them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// A cycle's attempt includes all older attempts. A request is only this request.
    pub job: Job,
}
