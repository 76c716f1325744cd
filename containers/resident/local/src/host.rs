//! A resident's effects on this machine.

use std::{
    cell::RefCell,
    future::Future,
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ars_resident::daemon::{
    Answer, CancelRequest, DiskRequest, Job, StepEnd, StepInput, StepRequest, Transfer,
};
use ars_resident::disk::Sample;
use ars_resident::names::{BackupId, Resource, RuntimeId, StrictThreadKey};
use ars_resident_engine::{
    Host, HostError, Minted, ObjectCounts, Registry, RegistryCall, Started, TokenUse,
};
use ars_sandboxd::{Daemon, Mode, Progress, Settings as DaemonSettings, StoreLinks};
use ars_sql_native::NativeSql;
use ars_types::UnixMillis;
use futures::future::LocalBoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{alarm::Alarm, archives, places::Places, settings::Settings};

/// Interval at which a transfer's bytes are reported.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// Performs a resident's effects.
pub(crate) struct LocalHost {
    resource: Resource,
    places: Places,
    settings: Rc<Settings>,
    registry: Rc<Registry<NativeSql>>,
    alarm: Rc<Alarm>,
    daemon: RefCell<Option<Arc<Daemon>>>,
    /// Allows a single start at a time.
    starting: tokio::sync::Mutex<()>,
}

impl LocalHost {
    pub(crate) fn new(
        resource: Resource,
        places: Places,
        settings: Rc<Settings>,
        registry: Rc<Registry<NativeSql>>,
        alarm: Rc<Alarm>,
    ) -> Self {
        Self {
            resource,
            places,
            settings,
            registry,
            alarm,
            daemon: RefCell::default(),
            starting: Default::default(),
        }
    }

    /// Returns the daemon, unless the disk is gone.
    fn daemon(&self) -> Option<Arc<Daemon>> {
        if !self.places.has_disk() {
            self.daemon.replace(None);
        }
        self.daemon.borrow().clone()
    }

    /// Returns the disk's daemon, opened if an earlier process left that disk.
    async fn existing(&self) -> Result<Arc<Daemon>, HostError> {
        let _guard = self.starting.lock().await;
        if !self.places.has_disk() {
            return Err(HostError::Replaced);
        }
        self.opened().await
    }

    /// Returns the daemon. A single caller at a time opens it.
    async fn opened(&self) -> Result<Arc<Daemon>, HostError> {
        if let Some(daemon) = self.daemon() {
            return Ok(daemon);
        }
        let daemon = Arc::new(self.open().await?);
        self.daemon.replace(Some(Arc::clone(&daemon)));
        Ok(daemon)
    }

    fn open(&self) -> impl Future<Output = Result<Daemon, HostError>> + use<> {
        let settings = DaemonSettings {
            root: self.places.workspace(),
            homes: self.places.homes(),
            mode: Mode::Host((self.settings.confine)(&self.resource)),
            links: StoreLinks::Copy,
            environment: self.settings.environment.clone(),
            of_service: self.settings.of_service.clone(),
            build: self.settings.build.clone(),
        };
        async move {
            let opened = tokio::task::spawn_blocking(move || Daemon::open(settings)).await;
            opened
                .map_err(|_| broke_off())?
                .map_err(|error| failed(&error))
        }
    }

    async fn file<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Places) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, HostError> {
        let places = self.places.clone();
        let done = tokio::task::spawn_blocking(move || work(&places)).await;
        done.map_err(|_| broke_off())?
            .map_err(|error| failed(&error))
    }
}

fn failed(error: &dyn std::error::Error) -> HostError {
    HostError::Failed(error.to_string())
}

fn broke_off() -> HostError {
    HostError::Failed("a file operation broke off".to_owned())
}

impl Host for LocalHost {
    fn now(&self) -> UnixMillis {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    async fn sleep(&self, ms: i64) {
        tokio::time::sleep(Duration::from_millis(u64::try_from(ms).unwrap_or(0))).await;
    }

    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        tokio::task::spawn_local(task);
    }

    async fn set_alarm(&self, at: UnixMillis) -> Result<(), HostError> {
        self.alarm.set(at);
        Ok(())
    }

    async fn runtime(&self) -> Option<RuntimeId> {
        // A disk that an earlier process left is there, although no daemon was opened for it yet.
        self.daemon().map_or_else(
            || self.places.runtime(),
            |daemon| Some(daemon.status().runtime),
        )
    }

    async fn start(&self) -> Result<Started, HostError> {
        let _guard = self.starting.lock().await;
        let daemon = self.opened().await?;
        Ok(Started {
            runtime: daemon.status().runtime,
            is_image_current: true,
        })
    }

    async fn stop(&self) -> Result<(), HostError> {
        // The disk is not opened while it is removed.
        let _guard = self.starting.lock().await;
        let daemon = self.daemon.take();
        if let Some(daemon) = daemon {
            daemon.cancel_all().await;
        }
        let unique = uuid::Uuid::new_v4().simple().to_string();
        self.file(move |places| places.remove_disk(&unique)).await
    }

    async fn run(
        &self,
        request: StepRequest,
        progress: &dyn Fn(u64),
    ) -> Result<StepEnd, HostError> {
        let daemon = self.existing().await?;
        if let (
            StepInput::Download {
                from: Transfer::Engine,
                ..
            },
            Some(id),
        ) = (&request.input, request.step.operation.received().cloned())
        {
            self.file(move |places| archives::offer(places, &id))
                .await?;
        }
        let (moved, cancel) = (Progress::default(), CancellationToken::new());
        // A request that is abandoned leaves no process.
        let _guard = cancel.clone().drop_guard();
        let mut step = std::pin::pin!(daemon.perform(&request, &moved, &cancel));
        let end = loop {
            tokio::select! {
                end = &mut step => break end,
                () = tokio::time::sleep(PROGRESS_INTERVAL) => progress(moved.bytes()),
            }
        };
        // A stop takes the daemon before it cancels the step.
        if !self
            .daemon()
            .is_some_and(|current| Arc::ptr_eq(&current, &daemon))
        {
            return Err(HostError::Replaced);
        }
        if let Ok(Answer::Archived { backup, .. }) = &end.result {
            let id = backup.clone();
            self.file(move |places| archives::store(places, &id))
                .await?;
        }
        Ok(end)
    }

    async fn cancel(&self, job: Job) -> Result<(), HostError> {
        if let Some(daemon) = self.daemon() {
            daemon.cancel(CancelRequest { job }).await;
        }
        Ok(())
    }

    async fn measure(&self, threads: Vec<StrictThreadKey>) -> Result<Sample, HostError> {
        let daemon = self.existing().await?;
        let sample = daemon.disk(&DiskRequest { threads }).await;
        sample.map_err(|failure| HostError::Failed(failure.stderr))
    }

    fn origin(&self, resource: &Resource) -> String {
        (self.settings.origins)(resource).unwrap_or_default()
    }

    async fn mint(
        &self,
        resource: &Resource,
        usage: TokenUse,
        may_be_cached: bool,
    ) -> Result<Option<Minted>, HostError> {
        match &self.settings.tokens {
            Some(tokens) => tokens(resource, usage, may_be_cached).await,
            None => Ok(None),
        }
    }

    fn new_backup(&self) -> BackupId {
        loop {
            // A UUID is always a valid id.
            if let Ok(id) = BackupId::parse(uuid::Uuid::new_v4().simple().to_string()) {
                return id;
            }
        }
    }

    async fn delete_backups(&self, ids: &[BackupId]) -> Result<(), HostError> {
        let ids = ids.to_vec();
        self.file(move |places| archives::delete(places, &ids))
            .await
    }

    async fn count_objects(&self, _: &Resource) -> Result<ObjectCounts, HostError> {
        self.file(archives::count).await
    }

    async fn delete_objects(&self, _: &Resource) -> Result<ObjectCounts, HostError> {
        self.file(archives::delete_all).await
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
        self.registry
            .answer(call)
            .map(drop)
            .map_err(|fault| failed(&fault))
    }
}
