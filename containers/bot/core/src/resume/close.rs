//! Closing a run that does not go on: its record, from its row and its stored events (state-worker supplement 9.5).

use std::sync::Arc;

use ars_agent::Saved;
use ars_runs::{Closing, closing_record};
use ars_types::RunStatus;
use ars_wire::ledger::Reclaimed;
use serde_json::Value;

use crate::{
    history,
    leftovers::Leftovers,
    ports::{ChannelIo, Owned, StoreError},
    retry::Policy,
    service::Core,
    threads::{FollowUp, Note},
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
    let cost = run.last_step.as_ref().and_then(Saved::of).and_then(|saved| saved.cost());
    let closing = Closing { status, finished_at: core.clock().now(), cost };
    // The claim of a run that went on without the ledger may reach it after the run's end: its record stays.
    let stored = Policy::RECORD.run(&owner.run_id, || core.store().get(&owner.run_id)).await?;
    let ended = stored.filter(|record| !history::is_provisional(record));
    let follow_ups = if ended.is_some() { Vec::new() } else { unread(&run) };
    let own = reopened(core, &run);
    let record = ended.unwrap_or_else(|| closing_record(&run, events, closing));
    let finished = Policy::RECORD.run(&owner.run_id, || live.ledger().finish(&owner, &record)).await?;
    match finished {
        Owned::Done(_) => {
            tracing::info!(run = %owner.run_id, status = %status, reason, "a run left by another process is closed");
            if let (Some(own), true) = (own, status != RunStatus::Interrupted) {
                Leftovers::of(status, follow_ups.into_iter(), &own).hand_back().await;
            }
        }
        Owned::Fenced | Owned::UnknownRun => {
            tracing::warn!(run = %owner.run_id, "a run left by another process was taken from here too");
        }
    }
    Ok(())
}

/// Follow-ups that no step has read.
fn unread(run: &Reclaimed) -> Vec<FollowUp> {
    let notes = run.inbox.iter().filter_map(|follow_up| {
        let note = Note::read(follow_up.message.clone())?;
        Some(FollowUp { note, inbox_seq: Some(follow_up.seq), sender: None })
    });
    notes.collect()
}

/// The way back to whoever asked for the run.
pub(super) fn reopened(core: &Core, run: &Reclaimed) -> Option<Arc<dyn ChannelIo>> {
    core.deps().capabilities.ledger.as_ref()?.channels.reopen(&run.row)
}
