//! The core's facade: dispatch, queries, commands, background services, and a process's drain.

use std::{collections::HashSet, sync::Arc, time::Duration};

use ars_auth::Actor;
use ars_bot_ports::{
    Channel, Clock, CommandSandbox, IncomingMessage, Randomness, RunStore, StoreError,
    code_host::PullRequestFacts,
};
use ars_codehost::{review::PullRequest, webhook::EndedPullRequest};
use ars_types::{Generation, RepoSlug, RunId, UnixMillis};
use ars_wire::ledger::LiveRun;
use tokio_util::sync::CancellationToken;

use crate::{
    background::{self, PullRequestFollower, Scheduler},
    commands::{self, Commands},
    context::{Deps, RunContext, settings::Settings},
    dispatch,
    gates::authorize_name,
    history::own_pulls,
    lifecycle,
    live::Live,
    queries::Queries,
    registry::Registry,
};

/// Default deadline for a drain.
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(15 * 60);

/// The core. Cheap to clone.
#[derive(Clone)]
pub struct Core {
    pub(crate) context: RunContext,
    /// Fires when unread follow-ups are no longer served.
    requeue_ended: CancellationToken,
}

/// The process load, for the health probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Requests in dispatch or running, plus pending work after runs.
    pub in_flight: u64,
    /// The process is shutting down.
    pub draining: bool,
    /// When the process started.
    pub started_at: UnixMillis,
    /// When the drain began.
    pub drain_started_at: Option<UnixMillis>,
    /// Final run records that could not be written.
    pub lost_records: u64,
}

impl Core {
    /// A core with nothing in flight.
    /// Must be called within a Tokio runtime, which then serves unread follow-ups.
    pub fn new(deps: Deps) -> Self {
        Self::drawing_from(Randomness::default(), deps)
    }

    /// A core that draws ids and tokens from this source. Must be called within a Tokio runtime.
    pub fn drawing_from(randomness: Randomness, deps: Deps) -> Self {
        let registry = commands::registry(&deps);
        let (context, requeued) = RunContext::new(randomness, deps, registry);
        let requeue_ended = CancellationToken::new();
        let ended = requeue_ended.clone().drop_guard();
        // Ends when the last context clone, which owns the sender, is dropped.
        tokio::spawn(async move {
            dispatch::serve_requeued(requeued).await;
            drop(ended);
        });
        Self {
            context,
            requeue_ended,
        }
    }

    /// Serves a request to the end and replies through `io`. Never fails.
    ///
    /// Must be driven to the end even when the requester is gone: callers spawn it.
    pub async fn dispatch(&self, message: IncomingMessage, io: Arc<dyn Channel>) {
        dispatch::dispatch(&self.context, message, io).await;
    }

    /// Returns this process's runs.
    pub fn registry(&self) -> &Registry {
        self.context.registry()
    }

    /// Returns the run queries.
    pub fn queries(&self) -> Queries {
        Queries::new(self.context.clone())
    }

    /// Returns whether a repository's gate admits an actor, with the configured grants.
    pub fn may_use_repository(&self, actor: &Actor, repository: &RepoSlug) -> bool {
        let settings = self.context.settings();
        let actor = settings.identify(actor);
        authorize_name(&actor, settings, repository.as_str()).is_ok()
    }

    /// Returns whether a pull request is the service's own.
    ///
    /// # Errors
    /// The history did not answer.
    pub async fn is_own_pull_request(&self, facts: &PullRequestFacts) -> Result<bool, StoreError> {
        let PullRequest {
            repository,
            number,
            head_branch,
            ..
        } = &facts.pull_request;
        own_pulls::is_own(
            &**self.context.store(),
            (repository, *number),
            head_branch,
            facts.is_own,
        )
        .await
    }

    /// Records how a pull request that a run opened ended.
    ///
    /// # Errors
    /// The history did not answer.
    pub async fn record_pull_request_end(
        &self,
        ended: &EndedPullRequest,
    ) -> Result<(), StoreError> {
        background::record_pull_request_end(&self.context, ended).await
    }

    /// Returns the pull request follower, or `None` without a code host or a run history.
    pub fn pull_request_follower(&self) -> Option<PullRequestFollower> {
        PullRequestFollower::new(&self.context)
    }

    /// Returns the scheduler, or `None` if no schedule fires in this installation.
    pub fn scheduler(&self) -> Option<Scheduler> {
        Scheduler::new(self.context.clone())
    }

    /// Returns this core's commands.
    pub fn commands(&self) -> Commands {
        Commands::new(self.context.clone())
    }

    /// Returns the durable run history.
    pub fn store(&self) -> &Arc<dyn RunStore> {
        self.context.store()
    }

    /// Returns the installation's settings.
    pub fn settings(&self) -> &Settings {
        self.context.settings()
    }

    /// Returns the current time's source.
    pub fn clock(&self) -> &dyn Clock {
        self.context.clock()
    }

    /// Returns the process load.
    pub fn load(&self) -> Load {
        let in_flight = self.context.in_flight();
        let drain_started_at = in_flight.drain_started_at();
        Load {
            in_flight: in_flight.current(),
            draining: drain_started_at.is_some(),
            started_at: self.context.started_at(),
            drain_started_at,
            lost_records: self.context.history().lost(),
        }
    }

    /// Returns the command sandbox, or `None` where no command runs.
    pub fn sandbox(&self) -> Option<CommandSandbox> {
        self.context.deps().workspaces.sandbox()
    }

    /// This process's generation in the ledger.
    pub fn generation(&self) -> Option<&Generation> {
        self.context.live().map(Live::generation)
    }

    /// Returns the keys of threads with a live run in the ledger, none without a ledger.
    ///
    /// # Errors
    /// The ledger did not answer.
    pub async fn live_threads(&self) -> Result<HashSet<String>, StoreError> {
        let rows = self.live_rows().await?;
        Ok(rows.into_iter().map(|row| row.thread_key).collect())
    }

    /// Returns the live runs in the ledger, of any process; none without a ledger.
    ///
    /// # Errors
    /// The ledger did not answer.
    pub async fn live_runs(&self) -> Result<HashSet<RunId>, StoreError> {
        let rows = self.live_rows().await?;
        Ok(rows.into_iter().map(|row| row.run_id).collect())
    }

    async fn live_rows(&self) -> Result<Vec<LiveRun>, StoreError> {
        match self.context.live() {
            Some(live) => live.ledger().live().await,
            None => Ok(Vec::new()),
        }
    }

    /// Returns `true` if the process has overrides to keep current.
    pub fn has_overrides(&self) -> bool {
        self.context.deps().capabilities.overrides.is_some()
    }

    /// Records every run that a drain leaves unfinished. Returns how many were recorded.
    pub async fn record_abandoned(&self) -> usize {
        self.context.record_abandoned().await
    }

    /// Serves the ledger until `end` fires: flushes events, extends leases, and reclaims orphaned runs.
    /// It reclaims at once and then every lease interval.
    pub async fn keep_ledger(&self, end: CancellationToken) {
        if let Some(live) = self.context.live() {
            tokio::join!(
                live.run(end.clone()),
                lifecycle::reclaim_loop(&self.context, end)
            );
        }
    }

    /// Watches the task that dispatches unread follow-ups, until `end` fires or the task ends.
    pub async fn keep_requeued(&self, end: CancellationToken) {
        tokio::select! {
            () = end.cancelled() => {}
            () = self.requeue_ended.cancelled() => tracing::error!("unread follow-ups are no longer dispatched"),
        }
    }

    /// Polls for other processes' configuration changes until `end` fires.
    pub async fn keep_overrides(&self, end: CancellationToken) {
        if let Some(overrides) = &self.context.deps().capabilities.overrides {
            overrides.keep_current(end).await;
        }
    }

    /// Starts the drain and waits until nothing is in flight. Returns `false` when `limit` elapses
    /// first.
    ///
    /// From then on new requests are rejected. If the process has a successor, each run that the
    /// ledger tracks is handed off at the next step boundary.
    pub async fn drain(&self, limit: Duration) -> bool {
        self.context.in_flight().start_drain(self.clock().now());
        let ledger = self.context.deps().capabilities.ledger.as_ref();
        if ledger.is_some_and(|ledger| ledger.has_successor) {
            self.context.hand_off().cancel();
        }
        self.idle(limit).await
    }

    /// Waits until nothing is in flight. Returns `false` when `limit` elapses first.
    pub async fn idle(&self, limit: Duration) -> bool {
        self.context.in_flight().idle(limit).await
    }
}
