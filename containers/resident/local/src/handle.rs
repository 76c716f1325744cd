//! The local residents' handle, which every thread may use.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    sync::{Arc, Mutex, PoisonError, mpsc as sync_mpsc},
    thread::{Builder, JoinHandle},
};

use ars_resident::wire::Route;
use ars_resident_engine::{Fault, Reply};
use tokio::{
    runtime,
    sync::{mpsc, oneshot},
    task::LocalSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    fleet::LocalFleet,
    settings::Settings,
    thread::{EngineJob, serve},
};

/// Permissions for the residents' folder.
const PRIVATE: u32 = 0o700;

/// Why local residents cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be created.
    #[error("the folder of residents")]
    Folder(#[source] io::Error),
    /// The registry cannot be opened.
    #[error("the registry of residents")]
    Registry(#[source] Fault),
    /// The thread cannot be started.
    #[error("the thread of residents")]
    Thread(#[source] io::Error),
}

/// This machine's residents. The last handle ends their thread, and with it every step.
#[derive(Clone)]
pub struct LocalResidents {
    inner: Arc<LocalInner>,
}

struct LocalInner {
    /// `None` once the residents are closing.
    jobs: Mutex<Option<mpsc::UnboundedSender<EngineJob>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl LocalResidents {
    /// Opens the residents in a folder and continues their work.
    ///
    /// Blocks while the registry is opened and migrated.
    ///
    /// # Errors
    /// The folder, the registry or the thread cannot be used.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let created = fs::DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE)
            .create(&settings.folder);
        created.map_err(OpenError::Folder)?;
        let (jobs, queue) = mpsc::unbounded_channel();
        let (opened, result) = sync_mpsc::channel();
        let run = move || {
            let runtime = match runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(opened.send(Err(OpenError::Thread(error)))),
            };
            // The connections belong to this thread.
            match LocalFleet::open(settings) {
                Ok(fleet) => {
                    drop(opened.send(Ok(())));
                    runtime.block_on(LocalSet::new().run_until(serve(fleet, queue)));
                }
                Err(fault) => drop(opened.send(Err(OpenError::Registry(fault)))),
            }
        };
        let thread = Builder::new()
            .name("residents".into())
            .spawn(run)
            .map_err(OpenError::Thread)?;
        let ended = || OpenError::Thread(io::Error::other("it ended at its start"));
        result.recv().unwrap_or_else(|_| Err(ended()))?;
        let (jobs, thread) = (Mutex::new(Some(jobs)), Mutex::new(Some(thread)));
        Ok(Self {
            inner: Arc::new(LocalInner { jobs, thread }),
        })
    }

    /// Sends a request as an administrator. `None` if the thread ended.
    ///
    /// Dropping the future ends a command; any other work runs to the end.
    pub async fn send(
        &self,
        route: Route,
        resource: Option<String>,
        body: String,
    ) -> Option<Reply> {
        let (path, method, _) = route.parts();
        let (reply, answer) = oneshot::channel();
        let jobs = self
            .inner
            .jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let left = CancellationToken::new();
        let _caller = left.clone().drop_guard();
        jobs?
            .send(EngineJob {
                method,
                path,
                resource,
                body,
                reply,
                left,
            })
            .ok()?;
        answer.await.ok()
    }
}

impl Drop for LocalInner {
    /// Ends the thread and waits for it, so that no step outlives the handle.
    fn drop(&mut self) {
        self.jobs
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let thread = self
            .thread
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Err(_)) = thread.map(JoinHandle::join) {
            tracing::error!("the thread of residents panicked");
        }
    }
}
