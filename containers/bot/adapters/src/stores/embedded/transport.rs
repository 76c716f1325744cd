//! The transport to the stores' thread.

use std::{
    path::Path,
    sync::{Arc, mpsc},
    thread::{Builder, JoinHandle},
};

use ars_bot_ports::{Clock, StoreError};
use ars_wire::state::Route;
use async_trait::async_trait;
use tokio::sync::oneshot;

use super::super::{
    client::{Client, Proposal},
    failure::permanent,
    transport::{StoreResponse, Transport},
};
use super::folder::make_private;
use super::stores::Stores;
use super::thread::{StoreJob, serve};

/// The stores in this process.
pub type EmbeddedStores = Client<Embedded>;

impl EmbeddedStores {
    /// Opens or creates the stores in a data directory. A new directory is private to this user.
    ///
    /// Blocks while the file is opened and migrated.
    pub fn open(
        data_dir: &Path,
        clock: Arc<dyn Clock>,
        proposal: Option<Proposal>,
    ) -> Result<Self, StoreError> {
        Self::over(Embedded::open(data_dir, clock)?, proposal)
    }
}

/// Sends requests to the stores' thread.
pub struct Embedded {
    /// `None` once the stores are closing.
    jobs: Option<mpsc::Sender<StoreJob>>,
    thread: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Opens or creates the stores, see [`EmbeddedStores::open`].
    pub fn open(data_dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        make_private(data_dir).map_err(|error| permanent(format!("data directory: {error}")))?;
        let stores = Stores::open(data_dir)?;
        let (jobs, queue) = mpsc::channel();
        let thread = Builder::new()
            .name("stores".into())
            .spawn(move || serve(stores, &queue, &*clock));
        let thread = thread.map_err(|error| permanent(format!("store thread: {error}")))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }
}

#[async_trait]
impl Transport for Embedded {
    async fn send(&self, route: Route, body: String) -> Result<StoreResponse, StoreError> {
        let gone = || permanent("the stores' thread has ended");
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(StoreJob { route, body, reply })
            .map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}

impl Drop for Embedded {
    /// Finishes the queued requests and closes the files.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("the stores' thread panicked");
        }
    }
}
