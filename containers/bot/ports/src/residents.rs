//! The residents port: repository environments that are kept warm between runs.
//!
//! Each resident Worker route has a method, over the wire types. Implemented by a client for the
//! Worker, and by an engine on this machine. Not here: choosing between a resident and a local
//! tree, and the workspace on a resident (`ars-bot-adapters`).

use ars_resident::{
    refusal::Refusal,
    wire::{
        AttachRequest, AttachResponse, CheckOutRequest, CheckOutResponse, CheckpointRequest,
        CheckpointResponse, DetachRequest, DetachResponse, ExecRequest, ExecResponse, OffboardPlan,
        OffboardReport, OffboardRequest, OnboardRequest, OnboardResponse, OpRequest, OpResponse,
        OpStatus, PushRequest, PushResponse, ReadRequest, ReadResponse, RebuildPlan,
        RebuildRequest, ReconfigureRequest, ReconfigureResponse, ResidentsResponse,
        RestoreResponse, StatusRequest, StatusResponse, WriteRequest, WriteResponse,
    },
};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// Residents: their registry, and the threads' trees in them.
///
/// A cancelled call returns [`ResidentsError::Cancelled`] at once. Work that the resident began
/// runs to the end.
#[async_trait]
pub trait Residents: Send + Sync {
    /// Adds a repository and starts provisioning it.
    async fn onboard(
        &self,
        request: &OnboardRequest,
        cancel: &CancellationToken,
    ) -> Result<OnboardResponse, ResidentsError>;

    /// Removes a repository, or plans that. A part that could not be removed is an entry in the
    /// report.
    async fn offboard(
        &self,
        request: &OffboardRequest,
        cancel: &CancellationToken,
    ) -> Result<Offboarded, ResidentsError>;

    /// Changes a repository's record.
    async fn reconfigure(
        &self,
        request: &ReconfigureRequest,
        cancel: &CancellationToken,
    ) -> Result<ReconfigureResponse, ResidentsError>;

    /// Discards a repository's snapshots and provisions it anew, or plans that.
    async fn rebuild(
        &self,
        request: &RebuildRequest,
        cancel: &CancellationToken,
    ) -> Result<RebuildPlan, ResidentsError>;

    /// Returns every resident with the live view.
    async fn list(&self, cancel: &CancellationToken) -> Result<ResidentsResponse, ResidentsError>;

    /// Returns a resident's state. The registry is asked each time.
    async fn status(
        &self,
        request: &StatusRequest,
        cancel: &CancellationToken,
    ) -> Result<StatusResponse, ResidentsError>;

    /// Binds a thread to a ref and prepares the tree.
    async fn attach(
        &self,
        request: &AttachRequest,
        cancel: &CancellationToken,
    ) -> Result<AttachResponse, ResidentsError>;

    /// Removes a thread's tree, unless that would lose work. The binding stays.
    async fn detach(
        &self,
        request: &DetachRequest,
        cancel: &CancellationToken,
    ) -> Result<DetachResponse, ResidentsError>;

    /// Runs an operation from the command table without a model. A failing command is a result.
    async fn op(
        &self,
        request: &OpRequest,
        cancel: &CancellationToken,
    ) -> Result<OpReply, ResidentsError>;

    /// Runs a command in a thread's tree. A non-zero exit code is a result.
    async fn exec(
        &self,
        request: &ExecRequest,
        cancel: &CancellationToken,
    ) -> Result<ExecResponse, ResidentsError>;

    /// Reads a file in a thread's tree.
    async fn read(
        &self,
        request: &ReadRequest,
        cancel: &CancellationToken,
    ) -> Result<ReadResponse, ResidentsError>;

    /// Replaces a file in a thread's tree.
    async fn write(
        &self,
        request: &WriteRequest,
        cancel: &CancellationToken,
    ) -> Result<WriteResponse, ResidentsError>;

    /// Pushes a commit from a thread's tree to the run's branch, never with force. A rejection by
    /// the code host is a result.
    async fn push(
        &self,
        request: &PushRequest,
        cancel: &CancellationToken,
    ) -> Result<PushResponse, ResidentsError>;

    /// Checks a commit from the code host out in a thread's tree.
    async fn check_out(
        &self,
        request: &CheckOutRequest,
        cancel: &CancellationToken,
    ) -> Result<CheckOutResponse, ResidentsError>;

    /// Saves a thread's tree as a commit in the mirror. The tree is unchanged.
    async fn checkpoint(
        &self,
        request: &CheckpointRequest,
        cancel: &CancellationToken,
    ) -> Result<CheckpointResponse, ResidentsError>;

    /// Restores a run's last checkpoint in a tree without work.
    async fn restore(
        &self,
        request: &CheckpointRequest,
        cancel: &CancellationToken,
    ) -> Result<RestoreResponse, ResidentsError>;
}

/// The answer to an offboarding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offboarded {
    /// The parts that a dry run would remove.
    Plan(OffboardPlan),
    /// The removed parts, and those that remain.
    Report(OffboardReport),
}

/// The answer to an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpReply {
    /// A table command ended.
    Ended(Box<OpResponse>),
    /// The stored facts, for operation `status`.
    Status(Box<OpStatus>),
}

/// A failed call. No variant carries a bearer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResidentsError {
    /// The resident rejects the request. A repeated request is rejected too, unless the state
    /// changes.
    #[error("{}", .0.error())]
    Refused(Box<Refusal>),
    /// No capacity is free (`fleet-busy`). Neither a rejection nor a resident failure.
    #[error("no capacity is free")]
    Busy,
    /// The request or the response did not arrive. The text names the reason.
    #[error("resident unreachable: {0}")]
    Unreachable(String),
    /// The response does not fit the interface, such as a 5xx without a known error.
    #[error("resident failed: {0}")]
    Failed(String),
    /// The caller cancelled the call.
    #[error("cancelled")]
    Cancelled,
}

impl From<Refusal> for ResidentsError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
