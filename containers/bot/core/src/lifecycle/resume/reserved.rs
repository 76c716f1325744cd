//! Reserves a reclaimed run's share of the day's budget, and the slot or queue place.
//!
//! The places are taken in request order, before the runs are read concurrently.

use ars_agent::{Saved, money::MoneyCap};
use ars_wire::ledger::Reclaimed;

use super::queued;
use crate::{context::RunContext, day_spend::Hold, limits::RunSlot, live::Meta};

/// A reclaimed run's reservations, until it takes them.
pub(super) struct Reserved {
    pub(super) hold: Option<Hold>,
    pub(super) slot: Option<RunSlot>,
}

impl Reserved {
    /// Reserves for a run. A run that was live is beyond this process's limits.
    pub(super) fn for_run(context: &RunContext, run: &Reclaimed) -> Self {
        let slot = Meta::of_row(&run.row.meta).ok().map(|meta| {
            if queued::request_of(run).is_some() {
                queued::place_of(context, &meta)
            } else {
                let caller = context.settings().caller(&meta.user_id);
                RunSlot::Free(context.slots().take_beyond(&caller))
            }
        });
        Self {
            hold: hold_of(context, run),
            slot,
        }
    }
}

/// Sorts runs for their reservations: live runs, then waiting runs by request time.
pub(super) fn sort(runs: &mut [Reclaimed]) {
    runs.sort_by_key(|run| {
        let received_at = Meta::of_row(&run.row.meta)
            .ok()
            .map(|meta| meta.received_at);
        queued::request_of(run).map(|_| (received_at, run.row.started_at.rounded()))
    });
}

/// Reserves the run's share of the day's budget. A run without a stored share has the loop's cap.
fn hold_of(context: &RunContext, run: &Reclaimed) -> Option<Hold> {
    let claimed = Meta::of_row(&run.row.meta).ok().and_then(|meta| meta.hold);
    let cap = claimed
        .map(|run_microusd| MoneyCap { run_microusd })
        .or_else(|| run.last_step.as_ref().and_then(Saved::from_record)?.cap())?;
    Some(context.day_spend().hold(&run.row.run_id, cap))
}
