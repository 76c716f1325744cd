//! The reclaim loop: at the start, and then every lease interval.
//!
//! A run's failure does not hold up another run.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ars_bot_ports::StoreErrorKind;
use ars_types::RunId;
use ars_wire::ledger::Reclaimed;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    queued,
    read::{BACKOFF, LEASE_RELIANCE, ReadBudget},
    reserved::{self, Reserved},
    resume_or_close::resume_or_close,
};
use crate::{
    context::RunContext,
    live::{LEASE, Live},
};

/// Loop interval, so that an expired lease is found within two leases.
const INTERVAL: Duration = Duration::from_millis(LEASE as u64);

/// Reclaims runs until `end` fires or the process hands its own runs off.
/// A process that may not reclaim looks after its own rows only.
pub(crate) async fn reclaim_loop(context: &RunContext, end: CancellationToken) {
    let Some(live) = context.live() else { return };
    let is_reclaiming = context
        .deps()
        .capabilities
        .ledger
        .as_ref()
        .is_some_and(|ledger| ledger.reclaims);
    let reclaimed = ReclaimedRuns::default();
    let mut orphans = HashSet::new();
    loop {
        if is_reclaiming {
            reclaim(context, live, &reclaimed).await;
        }
        orphans = compare_rows(context, live, &reclaimed, &orphans).await;
        tokio::select! {
            () = end.cancelled() => return,
            () = context.hand_off().cancelled() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

/// Reclaimed runs that are not resumed or closed yet.
#[derive(Clone, Default)]
struct ReclaimedRuns(Arc<Mutex<HashSet<RunId>>>);

impl ReclaimedRuns {
    fn lock(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Compares the ledger's rows with this process's runs. Returns the orphans: rows that name this
/// process but have no run, such as those from a reclaim without a response.
///
/// A run that another process owns is fenced out here, because that driver would reply too if no
/// store answered any more. A row that is an orphan in two passes in a row is closed, because a
/// reclaim never returns a process its own rows.
async fn compare_rows(
    context: &RunContext,
    live: &Live,
    reclaimed: &ReclaimedRuns,
    before: &HashSet<RunId>,
) -> HashSet<RunId> {
    let rows = match live.ledger().live().await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::warn!(error = %error, "orphaned runs not looked for: the ledger does not answer");
            return before.clone();
        }
    };
    let mut orphans = HashSet::new();
    for mut row in rows {
        let id = row.run_id.clone();
        if row.owner_gen != *live.generation() {
            live.fence_out(&id);
            continue;
        }
        if context.registry().get(&id).is_some() || reclaimed.lock().contains(&id) {
            continue;
        }
        if before.contains(&id) {
            let reclaimed_from = row.phase;
            queued::forget_started(&mut row);
            let run = Reclaimed {
                row,
                reclaimed_from,
                last_step: None,
                inbox: Vec::new(),
                jobs: Vec::new(),
            };
            // The lease is not extended, but nothing is read that another process could write.
            spawn_resume(context, run, reclaimed, Instant::now());
        } else {
            orphans.insert(id);
        }
    }
    orphans
}

/// Makes a single reclaim pass.
async fn reclaim(context: &RunContext, live: &Live, reclaimed: &ReclaimedRuns) {
    let in_flight = context.enter();
    // A run that was lost without this process knowing is left to the next pass. Two drivers in a
    // process would pass the same fence.
    let mut at_work = live.at_work();
    at_work.extend(reclaimed.lock().iter().cloned());
    let leased_at = Instant::now();
    let mut runs = match live
        .ledger()
        .reclaim(live.generation(), LEASE, None, &at_work)
        .await
    {
        Ok(runs) => runs,
        Err(error) => {
            tracing::warn!(error = %error, "nothing reclaimed: the ledger does not answer");
            return;
        }
    };
    reserved::sort(&mut runs);
    for run in runs {
        spawn_resume(context, run, reclaimed, leased_at);
    }
    drop(in_flight);
}

/// Resumes or closes a run leased at `leased_at`, with as many attempts as the stores need.
fn spawn_resume(
    context: &RunContext,
    run: Reclaimed,
    reclaimed: &ReclaimedRuns,
    leased_at: Instant,
) {
    let (context, reclaimed, id) = (context.clone(), reclaimed.clone(), run.row.run_id.clone());
    reclaimed.lock().insert(id.clone());
    let in_flight = context.enter();
    // Reserved at once: the row is this process's, so no other process counts it.
    let mut reserved = Reserved::for_run(&context, &run);
    tokio::spawn(async move {
        let mut budget = ReadBudget::new(leased_at);
        while let Err(error) = resume_or_close(
            &context,
            run.clone(),
            &mut reserved,
            &mut budget,
            context.enter(),
        )
        .await
        {
            tracing::error!(run = %id, error = %error, "reclaimed run not resumed");
            budget.count(&error);
            // A run that cannot be read must not keep others waiting.
            reserved.slot = None;
            // A run given up here would become an orphan, about which less is known.
            let wait = if error.kind == StoreErrorKind::Transient {
                BACKOFF
            } else {
                LEASE_RELIANCE
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = context.hand_off().cancelled() => {}
            }
            if context.is_draining() {
                // The next process reclaims it once the lease expires.
                break;
            }
        }
        reclaimed.lock().remove(&id);
        drop(in_flight);
    });
}
