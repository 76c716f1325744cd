//! Taking over what other processes left (document 2 section 3.3, state-worker supplement sections 9.5 and 10.3).
//!
//! At the start and then every lease interval this process asks the ledger for runs that were offered or whose lease
//! has lapsed. Each either goes on here, under its id and with its stream, or is closed with a record that says how far
//! it came. One run's failure holds up no other. Not here: the decision itself (`ars_agent::resume`, pure).

mod close;
mod go_on;
mod read;
mod since;
mod spans;
mod stored;
mod take;
mod tree;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ars_agent::{Saved, money::MoneyCap};
use ars_bot_ports::{StoreError, StoreErrorKind};
use ars_types::RunId;
use ars_wire::ledger::Reclaimed;
use thiserror::Error;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    context::RunContext,
    day_spend::Hold,
    live::{LEASE, Live, Meta},
};
use read::{Patience, RELIED_ON};
use take::take;

/// Why a run that could go on does not.
#[derive(Debug, Error)]
pub(crate) enum Refused {
    /// The row is of another kind or version.
    #[error("the run's description cannot be read: {0}")]
    Meta(#[from] serde_json::Error),
    /// The agent is not there any more.
    #[error("the agent is not known here")]
    Agent,
    /// The model's provider is not configured.
    #[error("the model cannot be asked: {0}")]
    Model(String),
    /// The channel cannot be taken up again.
    #[error("its channel cannot be taken up again")]
    Channel,
    /// The thread has a newer run.
    #[error("the thread has a newer run")]
    Thread,
    /// The thread's working tree cannot be opened now: the disk fails, or there is no room.
    #[error("the workspace could not be made ready: {0}")]
    Disk(String),
    /// The thread's working tree cannot be opened.
    #[error("the workspace could not be made ready: {0}")]
    Workspace(String),
    /// The thread has no working tree here, as when the machine was replaced.
    #[error("its working tree is gone, and with it what it had done there")]
    TreeGone,
    /// The thread's working tree is not the run's.
    #[error("the thread's working tree is of another repository")]
    AnotherTree,
    /// What is stored of it is not to be had.
    #[error("what is stored of it cannot be read: {0}")]
    Unread(StoreError),
    /// No record with its events is taken.
    #[error("its record is refused with what is stored of it")]
    Record,
    /// The step has no loop to go on with.
    #[error("the stored step does not say how the loop stood")]
    NoLoop,
    /// Yet another process took it meanwhile.
    #[error("another process has the run")]
    Lost,
    /// No randomness for the run's token.
    #[error("no randomness")]
    Randomness,
}

impl Refused {
    /// Whether the run has lost what it worked in, which whoever reads its record should know.
    const fn is_of_tree(&self) -> bool {
        matches!(self, Self::Disk(_) | Self::Workspace(_) | Self::TreeGone | Self::AnotherTree)
    }
}

/// Between two attempts to go on with a run that was taken over, while the stores fail or its tree cannot be opened.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Between two looks at what other processes left: whatever lapses is found within two leases.
const EVERY: Duration = Duration::from_millis(LEASE as u64);

/// Takes over again and again until `end` fires or the process drains.
pub(crate) async fn keep_taking_over(context: &RunContext, end: CancellationToken) {
    let Some(live) = context.live() else { return };
    let (taking, mut strays) = (Taking::default(), HashSet::new());
    loop {
        take_over(context, live, &taking).await;
        strays = compare_rows(context, live, &taking, &strays).await;
        tokio::select! {
            () = end.cancelled() => return,
            () = context.hand_off().cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

/// Runs that were taken over and do not go on yet.
#[derive(Clone, Default)]
struct Taking(Arc<Mutex<HashSet<RunId>>>);

impl Taking {
    fn lock(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds the ledger's rows against what this process is at work on. Behind the pass: no run that it took is in them as
/// another's.
///
/// A run that is another's by now is let go, although nothing of it was asked for lately: once no store answers any more,
/// its driver would reply too. Runs that are this process's and that it knows nothing of, as when the answer to a reclaim
/// was lost, are closed: the ledger gives them to nobody but another process (section 9.3). What was such a stray at the
/// last pass and is one still is closed; all others are handed back.
async fn compare_rows(
    context: &RunContext,
    live: &Live,
    taking: &Taking,
    before: &HashSet<RunId>,
) -> HashSet<RunId> {
    let rows = match live.ledger().live().await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::warn!(error = %error, "strays not looked for: the ledger does not answer");
            return before.clone();
        }
    };
    let mut strays = HashSet::new();
    for row in rows {
        let id = row.run_id.clone();
        if row.owner_gen != *live.generation() {
            live.let_go(&id);
            continue;
        }
        if context.registry().get(&id).is_some() || taking.lock().contains(&id) {
            continue;
        }
        if before.contains(&id) {
            let reclaimed_from = row.phase;
            let run = Reclaimed { row, reclaimed_from, last_step: None, inbox: Vec::new(), jobs: Vec::new() };
            // Nothing extends its lease, but nothing of it is read that another process could write.
            spawn_take(context, run, taking, Instant::now());
        } else {
            strays.insert(id);
        }
    }
    strays
}

/// One pass.
async fn take_over(context: &RunContext, live: &Live, taking: &Taking) {
    let in_flight = context.enter();
    // What it has lost without having heard of it yet is the next pass's: two drivers of one process would pass the same
    // fence.
    let mut at_work = live.at_work();
    at_work.extend(taking.lock().iter().cloned());
    let asked_at = Instant::now();
    let runs = match live.ledger().reclaim(live.generation(), LEASE, None, &at_work).await {
        Ok(runs) => runs,
        Err(error) => {
            tracing::warn!(error = %error, "nothing taken over: the ledger does not answer");
            return;
        }
    };
    for run in runs {
        spawn_take(context, run, taking, asked_at);
    }
    drop(in_flight);
}

/// Takes one run over, whose lease was asked for then, as often as it takes the stores to answer.
fn spawn_take(context: &RunContext, run: Reclaimed, taking: &Taking, leased_at: Instant) {
    let (context, taking, id) = (context.clone(), taking.clone(), run.row.run_id.clone());
    taking.lock().insert(id.clone());
    let in_flight = context.enter();
    // At once: its row is this process's already, so nobody else counts it for this one.
    let mut hold = hold_of(&context, &run);
    tokio::spawn(async move {
        let mut patience = Patience::since(leased_at);
        while let Err(error) = take(&context, run.clone(), &mut hold, &mut patience, context.enter()).await {
            tracing::error!(run = %id, error = %error, "a run taken over does not go on");
            patience.count(&error);
            // Given up, it would be a stray, of which less is known.
            let wait = if error.kind == StoreErrorKind::Transient { AGAIN_AFTER } else { RELIED_ON };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = context.hand_off().cancelled() => {}
            }
            if context.is_draining() {
                // The next process finds it when its lease has lapsed.
                break;
            }
        }
        taking.lock().remove(&id);
        drop(in_flight);
    });
}

/// What the run may spend of the day. A row that does not say so is of a run that only its own cap bounds.
fn hold_of(context: &RunContext, run: &Reclaimed) -> Option<Hold> {
    let claimed = Meta::of_row(&run.row.meta).ok().and_then(|meta| meta.hold);
    let cap = claimed
        .map(|run_microusd| MoneyCap { run_microusd })
        .or_else(|| run.last_step.as_ref().and_then(Saved::of)?.cap())?;
    Some(context.day_spend().hold(&run.row.run_id, cap))
}
