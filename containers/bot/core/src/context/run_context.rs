//! State shared by all stages of a run: dependencies, registry, history, threads, ledger client.
//!
//! Dispatch and the run lifecycle both depend on this file, and it depends on neither. The facade
//! above them is `Core`.

use std::sync::Arc;

use ars_auth::TokenMap;
use ars_bot_ports::{Channel, Clock, IncomingMessage, Randomness, RunStore};
use ars_types::UnixMillis;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    abridge_jobs::AbridgeJobs, deps::Deps, onboarded::OnboardedRepositories, settings::Settings,
};
use crate::{
    claims::{ReviewClaimStore, WorkClaims},
    day_spend::{DaySpend, SpendSources},
    history::HistoryWriter,
    limits::{FileMemory, InFlight, InFlightCount, Slots},
    live::Live,
    registry::Registry,
    threads::{Drafts, Threads},
};

/// State shared by all runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RunContext {
    inner: Arc<Inner>,
}

struct Inner {
    deps: Deps,
    registry: Registry,
    history: HistoryWriter,
    threads: Threads,
    drafts: Drafts,
    slots: Slots,
    abridge_jobs: AbridgeJobs,
    review_claims: ReviewClaimStore,
    work_claims: WorkClaims,
    onboarded: OnboardedRepositories,
    day_spend: Arc<DaySpend>,
    live: Option<Live>,
    hand_off: CancellationToken,
    in_flight: Arc<InFlightCount>,
    file_memory: Arc<FileMemory>,
    requeue: mpsc::UnboundedSender<Requeued>,
    started_at: UnixMillis,
    commands: ars_commands::Registry,
}

/// An unread follow-up that becomes a new request.
pub(crate) struct Requeued {
    /// The context it is dispatched in.
    pub(crate) context: RunContext,
    pub(crate) message: IncomingMessage,
    /// The sender's channel, or that of the run that did not read the message.
    pub(crate) io: Arc<dyn Channel>,
    /// Counted from the moment it is queued, so that a drain waits for it.
    pub(crate) in_flight: InFlight,
}

/// The receiving end of the queue for unread follow-ups.
pub(crate) type RequeueReceiver = mpsc::UnboundedReceiver<Requeued>;

impl RunContext {
    /// Creates a context with nothing in flight, and the queue for unread follow-ups.
    pub(crate) fn new(
        randomness: Randomness,
        deps: Deps,
        commands: ars_commands::Registry,
    ) -> (Self, RequeueReceiver) {
        let (clock, redactor) = (Arc::clone(&deps.clock), Arc::clone(&deps.redactor));
        let ledger = deps.capabilities.ledger.as_ref();
        let live = ledger.map(|ledger| Live::new(ledger.stores.clone(), ledger.generation.clone()));
        // Unbounded: a run queues at most one turn, and the mailbox bounds what it did not read.
        let (requeue, requeued) = mpsc::unbounded_channel();
        let inner = Inner {
            registry: Registry::drawing_from(randomness, clock, redactor),
            history: HistoryWriter::new(Arc::clone(&deps.store)),
            threads: Threads::default(),
            drafts: Drafts::default(),
            slots: Slots::new(deps.settings.load),
            abridge_jobs: AbridgeJobs::default(),
            review_claims: ReviewClaimStore::new(deps.capabilities.claims.clone()),
            work_claims: WorkClaims::new(deps.capabilities.claims.clone()),
            onboarded: OnboardedRepositories::new(deps.capabilities.commands.residents.clone()),
            day_spend: Arc::default(),
            live,
            hand_off: CancellationToken::new(),
            in_flight: InFlightCount::new(),
            file_memory: Arc::default(),
            requeue,
            started_at: deps.clock.now(),
            commands,
            deps,
        };
        (
            Self {
                inner: Arc::new(inner),
            },
            requeued,
        )
    }

    /// Queues an unread follow-up for dispatch, also during a drain.
    pub(crate) fn requeue(&self, message: IncomingMessage, io: Arc<dyn Channel>) {
        let requeued = Requeued {
            context: self.clone(),
            message,
            io,
            in_flight: self.enter(),
        };
        if self.inner.requeue.send(requeued).is_err() {
            tracing::error!("unread follow-up dropped: its queue is closed");
        }
    }

    /// The jobs that abridge reviews.
    pub(crate) fn abridge_jobs(&self) -> &AbridgeJobs {
        &self.inner.abridge_jobs
    }

    /// Claims on posted reviews.
    pub(crate) fn review_claims(&self) -> &ReviewClaimStore {
        &self.inner.review_claims
    }

    /// Claims on firings and filed issues.
    pub(crate) fn work_claims(&self) -> &WorkClaims {
        &self.inner.work_claims
    }

    /// The repositories with a resident.
    pub(crate) fn onboarded(&self) -> &OnboardedRepositories {
        &self.inner.onboarded
    }

    /// This process's runs.
    pub(crate) fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// Durable run history.
    pub(crate) fn store(&self) -> &Arc<dyn RunStore> {
        &self.inner.deps.store
    }

    /// The installation's settings.
    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.deps.settings
    }

    /// Source of the current time.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.inner.deps.clock
    }

    pub(crate) fn deps(&self) -> &Deps {
        &self.inner.deps
    }

    /// The ingress tokens, or `None` in a process that serves none.
    pub(crate) fn tokens(&self) -> Option<&TokenMap> {
        self.inner.deps.capabilities.tokens.as_deref()
    }

    /// This installation's commands.
    pub(crate) fn command_registry(&self) -> &ars_commands::Registry {
        &self.inner.commands
    }

    /// Writes run records.
    pub(crate) fn history(&self) -> &HistoryWriter {
        &self.inner.history
    }

    /// The ledger's client, or `None` without a ledger.
    pub(crate) fn live(&self) -> Option<&Live> {
        self.inner.live.as_ref()
    }

    /// Fires when tracked runs are handed off to the next process.
    pub(crate) fn hand_off(&self) -> &CancellationToken {
        &self.inner.hand_off
    }

    /// Where the day's spend is read from.
    pub(crate) fn spend_sources(&self) -> SpendSources<'_> {
        SpendSources {
            store: &**self.store(),
            live: self.live(),
        }
    }

    /// This process's spend for the day.
    pub(crate) fn day_spend(&self) -> &Arc<DaySpend> {
        &self.inner.day_spend
    }

    /// The threads with a live run.
    pub(crate) fn threads(&self) -> &Threads {
        &self.inner.threads
    }

    /// The messages that are served now.
    pub(crate) fn drafts(&self) -> &Drafts {
        &self.inner.drafts
    }

    /// Slots for live runs.
    pub(crate) fn slots(&self) -> &Slots {
        &self.inner.slots
    }

    /// Room for the files of requests.
    pub(crate) fn file_memory(&self) -> &Arc<FileMemory> {
        &self.inner.file_memory
    }

    /// The work in flight.
    pub(crate) fn in_flight(&self) -> &Arc<InFlightCount> {
        &self.inner.in_flight
    }

    /// Counts work that belongs to an accepted request, also during a drain.
    pub(crate) fn enter(&self) -> InFlight {
        self.inner.in_flight.enter()
    }

    /// Returns whether the process shuts down.
    pub(crate) fn is_draining(&self) -> bool {
        self.inner.in_flight.drain_started_at().is_some()
    }

    /// When the process started.
    pub(crate) fn started_at(&self) -> UnixMillis {
        self.inner.started_at
    }
}
