//! Fires the bot's own schedules (docs/reference/code-host.md#weekly-issues).
//!
//! A firing is a message by the schedule's own actor, with the permissions from the entry under
//! `[grants]`. Not here: when a schedule is due (`ars_schedules::due`), and the firing record (the
//! `Schedules` port).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ars_auth::{Actor, Grants};
use ars_bot_ports::{
    Channel, ChannelEvent, Choices, HistoryTurn, IncomingMessage, ReplyError, Schedules,
};
use ars_schedules::{Action, BOT, Cron, Schedule, due, firing};
use ars_types::{ChannelTraits, Platform, RunId, RunStatus, ThreadKey, UnixMillis};
use ars_wire::{ErrorCode, schedules::Firing};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{
    claims::MAX_WORK_CLAIM_AGE_MS,
    context::{RunContext, is_on},
    dispatch::dispatch,
};

/// Interval at which due firings are searched.
const FIRING_INTERVAL: Duration = Duration::from_secs(60);

/// Fires this process's schedules.
pub struct Scheduler {
    context: RunContext,
    store: Arc<dyn Schedules>,
    /// This process's last firings, for when the store does not answer.
    fired: BTreeMap<&'static str, UnixMillis>,
    /// When firings first met other work. They are repeated until a claim from then has expired.
    conflicts: BTreeMap<&'static str, UnixMillis>,
}

/// A firing that is due.
struct Due {
    schedule: &'static str,
    command: &'static str,
    identity: &'static str,
    /// When it is due.
    at: UnixMillis,
}

impl Scheduler {
    /// Returns a core's scheduler, or `None` if none of the bot's schedules is on.
    pub(crate) fn new(context: RunContext) -> Option<Self> {
        let deps = context.deps();
        let store = Arc::clone(deps.capabilities.commands.schedules.as_ref()?);
        let mut own = store
            .schedules()
            .iter()
            .filter(|schedule| schedule.worker == BOT);
        let fires = own.any(|schedule| is_on(deps, schedule));
        fires.then(|| Self {
            context,
            store,
            fired: BTreeMap::new(),
            conflicts: BTreeMap::new(),
        })
    }

    /// Fires what is due, every minute until `end` fires.
    pub async fn run(mut self, end: CancellationToken) {
        loop {
            tokio::select! {
                () = end.cancelled() => return,
                () = self.fire_due() => {}
            }
            tokio::select! {
                () = end.cancelled() => return,
                () = tokio::time::sleep(FIRING_INTERVAL) => {}
            }
        }
    }

    /// Fires whatever is due, and waits until the firings have ended and are recorded. A process
    /// that shuts down fires nothing, because the next process does.
    pub async fn fire_due(&mut self) {
        if self.context.is_draining() {
            return;
        }
        for Due {
            schedule,
            command,
            identity,
            at,
        } in self.due().await
        {
            let now = self.context.clock().now();
            // Two processes find the same firing due. The claim expires, for a process that ends before the record.
            let (key, owner) = (
                format!("firing {schedule} {at}"),
                self.context.registry().mint(),
            );
            if self.context.work_claims().claim(&key, &owner, now).await != Some(true) {
                continue;
            }
            let since = self.conflicts.get(schedule).copied().unwrap_or(now);
            let repeats_conflict = now.saturating_sub(since) <= MAX_WORK_CLAIM_AGE_MS;
            let (context, store) = (self.context.clone(), Arc::clone(&self.store));
            // In a separate task, because a message is dispatched to the end.
            let fired = tokio::spawn(async move {
                let fired = fire(&context, schedule, command, identity, now).await;
                let fired = fired.filter(|fired| !(fired.has_conflict && repeats_conflict));
                let Some(Fired { firing, .. }) = fired else {
                    context.work_claims().release(&key, &owner).await;
                    return None;
                };
                if let Err(error) = store.record(&firing).await {
                    tracing::error!(%error, schedule, "firing not recorded");
                }
                Some(())
            });
            match fired.await {
                Ok(None) => {
                    self.conflicts.entry(schedule).or_insert(now);
                    continue;
                }
                Ok(Some(())) => {}
                Err(_) => tracing::error!(schedule, "firing broke off"),
            }
            self.conflicts.remove(schedule);
            self.fired.insert(schedule, now);
        }
    }

    /// Returns the schedules that are due. Without the record of earlier firings none is.
    async fn due(&self) -> Vec<Due> {
        let recorded = match self.store.latest().await {
            Ok(firings) => firings,
            Err(error) => {
                tracing::warn!(%error, "firings of schedules not readable: nothing is fired");
                return Vec::new();
            }
        };
        let (deps, now) = (self.context.deps(), self.context.clock().now());
        let due = |schedule: &'static Schedule| {
            let (BOT, Action::Run { command, identity }) = (schedule.worker, schedule.action)
            else {
                return None;
            };
            let recorded = recorded
                .iter()
                .find(|firing| firing.schedule == schedule.name);
            let last = recorded
                .map(|firing| firing.fired_at)
                .max(self.fired.get(schedule.name).copied());
            let cron = Cron::parse(schedule.cron).ok()?;
            let at = due(&cron, last, now).filter(|_| is_on(deps, schedule))?;
            Some(Due {
                schedule: schedule.name,
                command,
                identity,
                at,
            })
        };
        self.store.schedules().iter().filter_map(due).collect()
    }
}

/// A firing that was answered.
struct Fired {
    firing: Firing,
    /// The command met other work, for example from a process that died, with a claim yet to
    /// expire.
    has_conflict: bool,
}

/// Dispatches a firing's message. Returns `None` if the process shuts down instead.
async fn fire(
    context: &RunContext,
    schedule: &str,
    command: &str,
    identity: &str,
    now: UnixMillis,
) -> Option<Fired> {
    let channel = Arc::new(FiringChannel::default());
    let message = IncomingMessage {
        // The configuration entry replaces a schedule's grants.
        actor: Actor::new(identity, Grants::default()),
        channel_id: identity.to_owned(),
        thread_key: ThreadKey::new(Platform::Schedule, schedule, &firing::thread(schedule, now)),
        visibility: Platform::Schedule.visibility(),
        text: command.to_owned(),
        attachments: Vec::new(),
        received_at: now,
        choices: Choices::default(),
        source: None,
        idempotency: None,
        is_confirmed: false,
    };
    dispatch(context, message, Arc::<FiringChannel>::clone(&channel)).await;
    let outcome = channel
        .outcome
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if outcome.is_rejected_by_shutdown {
        return None;
    }
    let reply = outcome.replies.join(" ");
    let has_conflict = outcome.failure == Some(ErrorCode::Conflict);
    let firing = match &outcome.ended {
        Some((run, status)) => {
            let reason = (*status != RunStatus::Completed).then_some(reply.as_str());
            firing::ran(schedule, now, run, *status, reason)
        }
        None => firing::without_run(schedule, now, &reply),
    };
    Some(Fired {
        firing,
        has_conflict,
    })
}

/// A firing's channel, which collects the outcome.
#[derive(Default)]
struct FiringChannel {
    outcome: Mutex<FiringOutcome>,
}

#[derive(Default)]
struct FiringOutcome {
    replies: Vec<String>,
    ended: Option<(RunId, RunStatus)>,
    /// The failed command's error code.
    failure: Option<ErrorCode>,
    is_rejected_by_shutdown: bool,
}

#[async_trait]
impl Channel for FiringChannel {
    fn traits(&self) -> ChannelTraits {
        Platform::Schedule.channel_traits()
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        Vec::new()
    }

    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            ChannelEvent::RejectedByShutdown => outcome.is_rejected_by_shutdown = true,
            ChannelEvent::CommandAnswered { failure } => outcome.failure = failure,
            ChannelEvent::RunFinished { run, status } => outcome.ended = Some((run, status)),
            other => outcome.replies.extend(other.into_text()),
        }
        Ok(())
    }
}
