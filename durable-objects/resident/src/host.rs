//! A resident's platform effects: container, daemon, object storage, alarm and code host.

use std::cell::RefCell;

use ars_platform::{
    BUILD, Container, ObjectContext, RetirementWatch, delete_objects, end_when_retired, now,
    object_keys, post_to, put_object, random_bytes, run_in_background, send_object, set_alarm,
    sleep, store_text, stored_text, text_binding,
};
use ars_resident::daemon::{
    Answer, CancelRequest, DiskRequest, Job, StepEnd, StepInput, StepRequest, Transfer,
};
use ars_resident::disk::Sample;
use ars_resident::names::{BackupId, Resource, RuntimeId, StrictThreadKey};
use ars_resident::pool::POOL_USERS_MAX;
use ars_resident_engine::{Host, HostError, Minted, ObjectCounts, RegistryCall, Started, TokenUse};
use ars_types::UnixMillis;
use futures::future::LocalBoxFuture;
use worker::{Bucket, Env, console_error};

use crate::code_host::CodeHost;
use crate::daemon::{CallError, Daemon, PORT, ok, transfer_path};
use crate::{REGISTRY_BINDING, REGISTRY_NAME, REGISTRY_PATH};

/// The object storage binding.
const ARCHIVES: &str = "ARCHIVES";
/// The variable that names the image where it is not this build's image: on a developer's machine.
const IMAGE: &str = "RESIDENT_IMAGE";
/// Stored text: the resource.
const RESOURCE: &str = "resource";
/// Stored text: the daemon's bearer, random for each container start.
const BEARER: &str = "bearer";
/// Stored text: the last started container's disk. Empty until the daemon answered.
const RUNTIME: &str = "runtime";
/// Random bytes in the daemon's bearer.
const BEARER_BYTES: usize = 32;
/// Random bytes in an archive id.
const BACKUP_BYTES: usize = 16;
/// Milliseconds in which a started container's daemon answers.
const START_MS: i64 = 120_000;
/// Milliseconds in which a container is reported as ended after the daemon ended.
const END_MS: i64 = 10_000;
/// Milliseconds between two looks at a container that starts or ends.
const POLL_MS: f64 = 100.0;
/// Maximum registry response in bytes.
const REGISTRY_MAX_BYTES: usize = 1 << 20;

/// Performs a resident's effects.
pub struct PlatformHost {
    context: ObjectContext,
    env: Env,
    container: Option<Container>,
    code_host: CodeHost,
    resource: RefCell<Option<Resource>>,
    /// Allows a single start at a time.
    starting: futures::lock::Mutex<()>,
    /// A new instance counts no operations, so this instance's may not go on beside it.
    _watch: RetirementWatch,
}

impl PlatformHost {
    pub(crate) fn new(context: ObjectContext, env: Env) -> Self {
        let container = Container::from_context(&context, PORT);
        let resource = stored_text(&context.storage(), RESOURCE)
            .and_then(|stored| Resource::parse(stored).ok());
        Self {
            container,
            code_host: CodeHost::from_env(&env),
            resource: RefCell::new(resource),
            starting: futures::lock::Mutex::new(()),
            _watch: end_when_retired(&context),
            context,
            env,
        }
    }

    /// Remembers the resource: archives are stored below that name.
    pub(crate) fn belongs_to(&self, resource: &Resource) {
        if self.resource.borrow().as_ref() == Some(resource) {
            return;
        }
        self.put(RESOURCE, resource.as_str());
        self.resource.replace(Some(resource.clone()));
    }

    fn put(&self, key: &str, text: &str) {
        if let Err(error) = store_text(&self.context.storage(), key, text) {
            console_error!("fault: {key} of a resident was not stored: {error}");
        }
    }

    fn stored(&self, key: &str) -> Option<String> {
        stored_text(&self.context.storage(), key).filter(|text| !text.is_empty())
    }

    fn container(&self) -> Result<&Container, HostError> {
        let missing = || HostError::Failed("this Worker has no containers of residents".to_owned());
        self.container.as_ref().ok_or_else(missing)
    }

    /// Returns the running container's daemon.
    fn daemon(&self) -> Result<Daemon<'_>, HostError> {
        let container = self.container()?;
        if !container.is_running() {
            return Err(HostError::Replaced);
        }
        let bearer = self.stored(BEARER).ok_or(HostError::Replaced)?;
        Ok(Daemon { container, bearer })
    }

    /// Returns an error as the engine takes it: if the container ended, it was replaced.
    ///
    /// The daemon is the container's first process, so a closed port or a response that broke off
    /// comes from a container that is ending. The platform still reports it as running for a
    /// moment.
    async fn lost(&self, error: CallError) -> HostError {
        let is_closed = matches!(error, CallError::Closed(_));
        let deadline = now() + END_MS;
        while self.container.as_ref().is_some_and(Container::is_running) {
            if !is_closed || now() > deadline {
                return error.into();
            }
            sleep(POLL_MS).await;
        }
        HostError::Replaced
    }

    fn bucket(&self) -> Result<Bucket, HostError> {
        self.env
            .bucket(ARCHIVES)
            .map_err(|_| HostError::Failed("the object storage is not bound".to_owned()))
    }

    fn key(&self, id: &BackupId) -> Result<String, HostError> {
        let unknown = || HostError::Failed("the object does not know its resource".to_owned());
        Ok(format!(
            "{}{id}",
            prefix(self.resource.borrow().as_ref().ok_or_else(unknown)?)
        ))
    }

    async fn listening(&self) -> Result<Started, HostError> {
        let deadline = now() + START_MS;
        loop {
            let daemon = self.daemon()?;
            match daemon.status().await {
                Ok(status) => {
                    self.put(RUNTIME, status.runtime.as_str());
                    let image = text_binding(&self.env, IMAGE).unwrap_or_else(|| BUILD.to_owned());
                    let is_image_current =
                        status.build == image && status.pool_users == POOL_USERS_MAX;
                    return Ok(Started {
                        runtime: status.runtime,
                        is_image_current,
                    });
                }
                Err(error) if now() > deadline => return Err(self.lost(error).await),
                Err(_) => sleep(POLL_MS).await,
            }
        }
    }

    /// Moves an extraction's archive to the daemon's disk.
    async fn offer(
        &self,
        daemon: &Daemon<'_>,
        id: &BackupId,
        progress: &dyn Fn(u64),
    ) -> Result<(), CallError> {
        let (bucket, key, path) = (self.bucket()?, self.key(id)?, transfer_path(id));
        let sent = send_object(
            &bucket,
            &key,
            daemon.container,
            (&path, &daemon.bearer),
            progress,
        )
        .await;
        let missing =
            || HostError::Failed("the archive does not exist in the object storage".to_owned());
        ok(&sent
            .map_err(CallError::from_platform)?
            .ok_or_else(missing)?)
    }

    /// Moves a written archive to the object storage.
    async fn store(
        &self,
        daemon: &Daemon<'_>,
        id: &BackupId,
        progress: &dyn Fn(u64),
    ) -> Result<(), CallError> {
        let (bucket, key) = (self.bucket()?, self.key(id)?);
        let archive = daemon.archive(id).await?;
        let stored = put_object(&bucket, &key, &archive, progress).await;
        if let Err(error) = daemon.forget(id).await.map_err(HostError::from) {
            console_error!("fault: an archive stays on a container's disk: {error}");
        }
        stored.map_err(CallError::from_platform)
    }

    async fn perform(
        &self,
        request: &StepRequest,
        progress: &dyn Fn(u64),
    ) -> Result<StepEnd, CallError> {
        let daemon = self.daemon()?;
        if let (
            StepInput::Download {
                from: Transfer::Engine,
                ..
            },
            Some(backup),
        ) = (&request.input, request.step.operation.received())
        {
            self.offer(&daemon, backup, progress).await?;
        }
        let end = daemon.perform(request, progress).await?;
        if let Ok(Answer::Archived { backup, .. }) = &end.result {
            self.store(&daemon, backup, progress).await?;
        }
        Ok(end)
    }
}

impl Host for PlatformHost {
    fn now(&self) -> UnixMillis {
        now()
    }

    async fn sleep(&self, ms: i64) {
        sleep(ms as f64).await;
    }

    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        run_in_background(&self.context, task);
    }

    async fn set_alarm(&self, at: UnixMillis) -> Result<(), HostError> {
        set_alarm(&self.context.storage(), at)
            .await
            .map_err(HostError::Failed)
    }

    async fn runtime(&self) -> Option<RuntimeId> {
        if !self.container.as_ref()?.is_running() {
            return None;
        }
        RuntimeId::parse(self.stored(RUNTIME)?).ok()
    }

    async fn start(&self) -> Result<Started, HostError> {
        let _guard = self.starting.lock().await;
        let container = self.container()?;
        if !container.is_running() {
            let bearer = hex::encode(random_bytes::<BEARER_BYTES>());
            self.put(RUNTIME, "");
            self.put(BEARER, &bearer);
            let environment = vec![("ARS_SANDBOXD_TOKEN".to_owned(), bearer)];
            container.start(environment).map_err(HostError::Failed)?;
        }
        self.listening().await
    }

    async fn stop(&self) -> Result<(), HostError> {
        let container = self.container()?;
        if container.is_running() {
            container.destroy().await.map_err(HostError::Failed)?;
        }
        self.put(RUNTIME, "");
        Ok(())
    }

    async fn run(
        &self,
        request: StepRequest,
        progress: &dyn Fn(u64),
    ) -> Result<StepEnd, HostError> {
        match self.perform(&request, progress).await {
            Ok(end) => Ok(end),
            Err(error) => Err(self.lost(error).await),
        }
    }

    async fn cancel(&self, job: Job) -> Result<(), HostError> {
        match self.daemon() {
            Ok(daemon) => Ok(daemon.cancel(CancelRequest { job }).await?),
            // The steps ended with it.
            Err(_) => Ok(()),
        }
    }

    async fn measure(&self, threads: Vec<StrictThreadKey>) -> Result<Sample, HostError> {
        Ok(self.daemon()?.disk(&DiskRequest { threads }).await?)
    }

    fn origin(&self, resource: &Resource) -> String {
        self.code_host.origin(resource)
    }

    async fn mint(
        &self,
        resource: &Resource,
        usage: TokenUse,
        may_be_cached: bool,
    ) -> Result<Option<Minted>, HostError> {
        self.code_host
            .mint(resource, usage, may_be_cached)
            .await
            .map_err(|failed| HostError::Failed(failed.to_string()))
    }

    fn new_backup(&self) -> BackupId {
        loop {
            // Hexadecimal digits are always a valid id.
            if let Ok(id) = BackupId::parse(hex::encode(random_bytes::<BACKUP_BYTES>())) {
                return id;
            }
        }
    }

    async fn delete_backups(&self, ids: &[BackupId]) -> Result<(), HostError> {
        let keys = ids
            .iter()
            .map(|id| self.key(id))
            .collect::<Result<Vec<_>, _>>()?;
        delete_objects(&self.bucket()?, &keys)
            .await
            .map_err(HostError::Failed)
    }

    async fn count_objects(&self, resource: &Resource) -> Result<ObjectCounts, HostError> {
        let prefix = prefix(resource);
        let keys = object_keys(&self.bucket()?, &prefix)
            .await
            .map_err(HostError::Failed)?;
        Ok(count(&keys, &prefix))
    }

    async fn delete_objects(&self, resource: &Resource) -> Result<ObjectCounts, HostError> {
        let bucket = self.bucket()?;
        let keys = object_keys(&bucket, &prefix(resource))
            .await
            .map_err(HostError::Failed)?;
        delete_objects(&bucket, &keys)
            .await
            .map_err(HostError::Failed)?;
        Ok(count(&keys, &prefix(resource)))
    }

    async fn release_slot(
        &self,
        resource: &Resource,
        onboarded_at: UnixMillis,
    ) -> Result<(), HostError> {
        let call = RegistryCall::Remove {
            resource: resource.clone(),
            onboarded_at: Some(onboarded_at),
        };
        let document =
            serde_json::to_string(&call).map_err(|error| HostError::Failed(error.to_string()))?;
        let posted = post_to(
            &self.env,
            REGISTRY_BINDING,
            REGISTRY_NAME,
            REGISTRY_PATH,
            &document,
            REGISTRY_MAX_BYTES,
        );
        match posted.await.map_err(HostError::Failed)? {
            (200, _) => Ok(()),
            (status, _) => Err(HostError::Failed(format!("the registry answered {status}"))),
        }
    }
}

/// Counts the objects below a prefix. An archive is named by its id.
fn count(keys: &[String], prefix: &str) -> ObjectCounts {
    let is_backup = |key: &&String| {
        key.strip_prefix(prefix)
            .is_some_and(|id| BackupId::parse(id).is_ok())
    };
    let backups = keys.iter().filter(is_backup).count();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    ObjectCounts {
        backups: number(backups),
        others: number(keys.len() - backups),
    }
}

/// Returns the prefix for a resource's objects.
fn prefix(resource: &Resource) -> String {
    format!("resident/{resource}/")
}
