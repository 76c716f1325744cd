//! The port of effects: container, daemon, object storage, code host, clock and alarm.

use ars_resident::daemon::{GitCredential, Job, StepEnd, StepRequest};
use ars_resident::disk::Sample;
use ars_resident::names::{BackupId, Resource, RuntimeId, StrictThreadKey};
use ars_types::UnixMillis;
use futures::future::LocalBoxFuture;

/// A failed effect. Its text is cleaned before anyone sees it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The container ended or was replaced during the call. Its disk may be lost.
    #[error("the container was replaced")]
    Replaced,
    /// The effect did not happen, or its answer was lost.
    #[error("{0}")]
    Failed(String),
}

/// A container that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The container.
    pub runtime: RuntimeId,
    /// It runs the image of this deployment, with every pool user.
    pub is_image_current: bool,
}

/// A token of the code host.
#[derive(Debug, Clone)]
pub struct Minted {
    /// The token with its origin.
    pub credential: GitCredential,
    /// Its expiry, if known.
    pub expires_at: Option<UnixMillis>,
}

/// The use of a token of the code host, which decides its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenUse {
    /// Fetches into the mirror.
    Fetch,
    /// Git of commands in a thread's tree, which can read the token.
    Tree,
    /// A push from the mirror.
    Push,
}

/// Numbers of a resource's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectCounts {
    /// Archives and their metadata.
    pub backups: u32,
    /// Other objects of the resource.
    pub others: u32,
}

/// The effects of one resident. Its futures belong to one thread, so none of them is `Send`.
///
/// Every call may fail, and its answer may be lost: calls are idempotent or fenced by an attempt.
#[expect(
    async_fn_in_trait,
    reason = "the engine runs on one thread, also in a Durable Object"
)]
pub trait Host: 'static {
    /// Returns the time.
    fn now(&self) -> UnixMillis;

    /// Waits.
    async fn sleep(&self, ms: i64);

    /// Runs a task in the background of the object.
    fn spawn(&self, task: LocalBoxFuture<'static, ()>);

    /// Sets the object's alarm. An earlier one is replaced.
    async fn set_alarm(&self, at: UnixMillis) -> Result<(), HostError>;

    /// Returns the container that runs, if any. Starts none, and asks no daemon.
    async fn runtime(&self) -> Option<RuntimeId>;

    /// Starts the container unless it runs.
    async fn start(&self) -> Result<Started, HostError>;

    /// Stops the container. Its disk is lost. Succeeds if none runs.
    async fn stop(&self) -> Result<(), HostError>;

    /// Performs a step in the container that runs.
    ///
    /// The host fulfils [`ars_resident::daemon::Transfer::Engine`] of archives: it may replace it by an address, or
    /// move the bytes itself. `progress` receives the bytes of a transfer so far.
    async fn run(&self, request: StepRequest, progress: &dyn Fn(u64))
    -> Result<StepEnd, HostError>;

    /// Ends the steps of a job, and fences out late ones.
    async fn cancel(&self, job: Job) -> Result<(), HostError>;

    /// Measures the disk of the container that runs.
    async fn measure(&self, threads: Vec<StrictThreadKey>) -> Result<Sample, HostError>;

    /// Returns the URL of the repository at the code host, or its path on this machine.
    fn origin(&self, resource: &Resource) -> String;

    /// Mints a token for one repository, or returns a cached one.
    /// `None` without credentials of a code host, or if this use gets none.
    async fn mint(
        &self,
        resource: &Resource,
        usage: TokenUse,
        may_be_cached: bool,
    ) -> Result<Option<Minted>, HostError>;

    /// Returns an unused id of an archive.
    fn new_backup(&self) -> BackupId;

    /// Deletes archives. One that does not exist counts as deleted.
    async fn delete_backups(&self, ids: &[BackupId]) -> Result<(), HostError>;

    /// Counts the objects of the resource.
    async fn count_objects(&self, resource: &Resource) -> Result<ObjectCounts, HostError>;

    /// Deletes all objects of the resource. Returns their numbers.
    async fn delete_objects(&self, resource: &Resource) -> Result<ObjectCounts, HostError>;

    /// Removes the registry row, unless it was written at another time than `onboarded_at`.
    async fn release_slot(
        &self,
        resource: &Resource,
        onboarded_at: UnixMillis,
    ) -> Result<(), HostError>;
}
