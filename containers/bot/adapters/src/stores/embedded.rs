//! The run store in this process: the Durable Object's code on a SQLite file below the data directory.
//!
//! One thread owns the connection and serves one request after the other, as the Durable Object does; it also does
//! the sweep that an alarm does there. Every answer is given after its commit.
//! Not here: SQL (`ars-runs`) and the connection's settings (`ars-sql-native`).

use std::{
    fs::DirBuilder,
    path::Path,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use ars_bot_core::ports::{Clock, StoreError};
use ars_runs::{RunStore, SWEEP_EVERY_MS};
use ars_sql_native::NativeSql;
use ars_store::{Store as _, StoreFailure};
use ars_wire::state::RunVerb;
use async_trait::async_trait;
use tokio::sync::oneshot;

use super::client::{Client, Exchange, Proposal, by_status, chain, permanent};

/// The store's file within the data directory.
const FILE: &str = "store.sqlite3";

/// The run store in this process.
pub type EmbeddedRunStore = Client<Embedded>;

impl EmbeddedRunStore {
    /// Opens or makes the store in a data directory, which only this user may enter if it is made here.
    ///
    /// Blocks while the file is opened and brought up to date.
    pub fn open(
        data_dir: &Path,
        clock: Arc<dyn Clock>,
        proposal: Option<Proposal>,
    ) -> Result<Self, StoreError> {
        make_private(data_dir).map_err(|error| permanent(format!("data directory: {error}")))?;
        let sql = NativeSql::open(&data_dir.join(FILE)).map_err(|error| permanent(error.to_string()))?;
        let store = RunStore::open(sql).map_err(|error| permanent(chain(&error)))?;
        let (jobs, queue) = mpsc::channel();
        let thread =
            thread::Builder::new().name("run-store".into()).spawn(move || serve(&store, &queue, &*clock));
        let thread = thread.map_err(|error| permanent(format!("store thread: {error}")))?;
        Self::new(Embedded { jobs: Some(jobs), thread: Some(thread) }, proposal)
    }
}

/// Hands requests to the store's thread.
pub struct Embedded {
    /// `None` once the store is closing.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    verb: RunVerb,
    body: String,
    /// Nobody may be waiting any more; the work is done all the same, as it is behind HTTP.
    reply: oneshot::Sender<Result<String, StoreFailure>>,
}

#[async_trait]
impl Exchange for Embedded {
    async fn exchange(&self, verb: RunVerb, body: String) -> Result<String, StoreError> {
        let gone = || permanent("the store's thread has ended");
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(Job { verb, body, reply }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?.map_err(|failure| match failure {
            StoreFailure::Refusal(refusal) => by_status(refusal.status(), &refusal.to_string()),
            // What the state Worker answers to a fault of its own.
            StoreFailure::Fault(fault) => by_status(500, &fault.to_string()),
        })
    }
}

impl Drop for Embedded {
    /// Finishes what is queued and closes the file.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("the run store's thread panicked");
        }
    }
}

/// The thread: requests as they come, and the sweep at the start and every six hours (section 11).
fn serve(store: &RunStore<NativeSql>, queue: &mpsc::Receiver<Job>, clock: &dyn Clock) {
    let every = Duration::from_millis(SWEEP_EVERY_MS.unsigned_abs());
    let mut sweep_at = Instant::now();
    loop {
        let left = sweep_at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            sweep(store, clock.now());
            sweep_at = Instant::now() + every;
            continue;
        }
        match queue.recv_timeout(left) {
            // The asker may have gone.
            Ok(job) => drop(job.reply.send(store.answer(job.verb, &job.body, clock.now()))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn sweep(store: &RunStore<NativeSql>, now: i64) {
    match store.sweep(now) {
        Ok(removed) => tracing::debug!(removed, "run history swept"),
        Err(error) => tracing::error!(error = %error, "run history not swept"),
    }
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
