//! Closing a run that does not go on: its record, from its row and its stored events (state-worker supplement 9.5).

use ars_runs::{Closing, closing_record};
use ars_types::RunStatus;
use ars_wire::ledger::Reclaimed;
use serde_json::Value;

use crate::{
    ports::{Owned, StoreError},
    retry::Policy,
    service::Core,
};

/// Closes a run that was cut off.
pub(super) async fn interrupted(
    core: &Core,
    run: Reclaimed,
    events: Vec<Value>,
    reason: &str,
) -> Result<(), StoreError> {
    close(core, run, events, RunStatus::Interrupted, reason).await
}

/// Closes a run with this status, without a reply.
pub(super) async fn close(
    core: &Core,
    run: Reclaimed,
    events: Vec<Value>,
    status: RunStatus,
    reason: &str,
) -> Result<(), StoreError> {
    let Some(live) = core.live() else { return Ok(()) };
    let owner = live.owner(&run.row.run_id);
    let closing = Closing { status, finished_at: core.clock().now() };
    let record = closing_record(&run, events, closing);
    let finished = Policy::RECORD.run(&owner.run_id, || live.ledger().finish(&owner, &record)).await?;
    match finished {
        Owned::Done(_) => {
            tracing::info!(run = %owner.run_id, status = %status, reason, "a run left by another process is closed");
        }
        Owned::Fenced | Owned::UnknownRun => {
            tracing::warn!(run = %owner.run_id, "a run left by another process was taken from here too");
        }
    }
    Ok(())
}
