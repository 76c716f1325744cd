//! The effects port: container, daemon, object storage, code host, clock and alarm.

use ars_resident::daemon::{GitCredential, Job, StepEnd, StepRequest};
use ars_resident::disk::Sample;
use ars_resident::names::{BackupId, Resource, RuntimeId, StrictThreadKey};
use ars_types::UnixMillis;
use futures::future::LocalBoxFuture;

/// A failed effect. The text is cleaned before anyone sees it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The container ended or was replaced during the call. Its disk may be lost.
    #[error("the container was replaced")]
    Replaced,
    /// The effect did not happen, or the response was lost.
    #[error("{0}")]
    Failed(String),
}

/// A container that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The container that runs.
    pub runtime: RuntimeId,
    /// It runs this deployment's image, with every pool user.
    pub is_image_current: bool,
}

/// A code host token.
#[derive(Debug, Clone)]
pub struct Minted {
    /// The token together with the origin.
    pub credential: GitCredential,
    /// When the token expires, if known.
    pub expires_at: Option<UnixMillis>,
}

/// What a code host token is used for, which decides the permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenUse {
    /// Fetches into the mirror.
    Fetch,
    /// Git for commands in a thread's tree, which can read the token.
    Tree,
    /// A push from the mirror.
    Push,
}

/// Counts a resource's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectCounts {
    /// Archives and their metadata.
    pub backups: u32,
    /// Other objects that belong to the resource.
    pub others: u32,
}

/// A single resident's effects. Its futures belong to a single thread, so none of them is `Send`.
///
/// Every call may fail, and the response may be lost: calls are idempotent or fenced by an attempt.
#[expect(
    async_fn_in_trait,
    reason = "the engine runs on one thread, also in a Durable Object"
)]
pub trait Host: 'static {
    /// Returns the present time.
    fn now(&self) -> UnixMillis;

    /// Waits for this long, in milliseconds.
    async fn sleep(&self, ms: i64);

    /// Runs a task in the object's background.
    fn spawn(&self, task: LocalBoxFuture<'static, ()>);

    /// Sets the object's alarm. Replaces an earlier alarm.
    async fn set_alarm(&self, at: UnixMillis) -> Result<(), HostError>;

    /// Returns the container that runs, if any. Starts none, and asks no daemon.
    async fn runtime(&self) -> Option<RuntimeId>;

    /// Starts the container unless it runs.
    async fn start(&self) -> Result<Started, HostError>;

    /// Stops the container. Its disk is lost. Succeeds if none runs.
    async fn stop(&self) -> Result<(), HostError>;

    /// Performs a step in the container that runs.
    ///
    /// The host fulfils an archive's [`ars_resident::daemon::Transfer::Engine`]: it may replace it
    /// by an address, or move the bytes itself. `progress` receives a transfer's bytes so far.
    async fn run(&self, request: StepRequest, progress: &dyn Fn(u64))
    -> Result<StepEnd, HostError>;

    /// Ends a job's steps, and fences out late steps.
    async fn cancel(&self, job: Job) -> Result<(), HostError>;

    /// Measures the running container's disk.
    async fn measure(&self, threads: Vec<StrictThreadKey>) -> Result<Sample, HostError>;

    /// Returns the repository's URL at the code host, or its path on this machine.
    fn origin(&self, resource: &Resource) -> String;

    /// Mints a token for a single repository, or returns a cached token. `None` without code host
    /// credentials, or if this use gets none.
    async fn mint(
        &self,
        resource: &Resource,
        usage: TokenUse,
        may_be_cached: bool,
    ) -> Result<Option<Minted>, HostError>;

    /// Returns an unused archive id.
    fn new_backup(&self) -> BackupId;

    /// Deletes archives. A missing archive counts as deleted.
    async fn delete_backups(&self, ids: &[BackupId]) -> Result<(), HostError>;

    /// Counts the resource's objects.
    async fn count_objects(&self, resource: &Resource) -> Result<ObjectCounts, HostError>;

    /// Deletes all the resource's objects. Returns how many.
    async fn delete_objects(&self, resource: &Resource) -> Result<ObjectCounts, HostError>;

    /// Removes the registry row, unless it was written at another time than `onboarded_at`.
    async fn release_slot(
        &self,
        resource: &Resource,
        onboarded_at: UnixMillis,
    ) -> Result<(), HostError>;
}
