//! Closing a run that does not go on: its record, from its row and its stored events (state-worker supplement 9.5).

use std::sync::Arc;

use ars_agent::{
    Saved,
    resume::{self, Attempts},
};
use ars_bot_ports::{ChannelIo, News, Owned, StoreError, Told};
use ars_events::{Event, EventBody, NoteKind};
use ars_runs::{Closing, RunRecord, closing_record};
use ars_types::RunStatus;
use ars_wire::ledger::{Followup, Phase, Reclaimed};

use super::stored::Stored;
use crate::{
    context::RunContext,
    day_spend::Hold,
    history,
    leftovers::{Leftovers, Unreader},
    live::{Live, Meta, REPLIED},
    retry::Policy,
    threads::{FollowUp, Note},
};

/// Closes a run that was cut off.
pub(super) async fn interrupted(
    context: &RunContext,
    run: Reclaimed,
    stored: Stored,
    reason: &str,
    hold: &mut Option<Hold>,
) -> Result<(), StoreError> {
    close(context, run, stored, RunStatus::Interrupted, reason, hold).await
}

/// Closes a run with this status, without a reply. The day counts what it held unless all that it cost is known.
pub(super) async fn close(
    context: &RunContext,
    run: Reclaimed,
    mut stored: Stored,
    status: RunStatus,
    reason: &str,
    hold: &mut Option<Hold>,
) -> Result<(), StoreError> {
    let Some(live) = context.live() else { return Ok(()) };
    let owner = live.owner(&run.row.run_id);
    let cost = run.last_step.as_ref().and_then(Saved::of).and_then(|saved| saved.cost());
    let held = hold.as_ref().map(|hold| hold.cap().run_microusd).filter(|_| may_have_cost_more(&run, cost));
    let closing = Closing { status, finished_at: context.clock().now(), cost, reserved: held };
    // The claim of a run that went on without the ledger may reach it after the run's end: its record stays.
    let record = Policy::RECORD.run(&owner.run_id, || context.store().get(&owner.run_id)).await?;
    let ended = record.filter(|record| !history::is_provisional(record));
    let is_late = ended.is_some();
    let status = ended.as_ref().map_or(status, |record| record.status);
    let news = last_news(live, &run, status).await?;
    let follow_ups = unread(run.inbox.iter().chain(&news));
    if status == RunStatus::Interrupted && !is_late {
        note_unread(context, &mut stored, &follow_ups);
    }
    let record = ended.unwrap_or_else(|| record_of(&run, stored, closing));
    let finished = Policy::RECORD.run(&owner.run_id, || live.ledger().finish(&owner, &record)).await?;
    match finished {
        Owned::Done(_) => {
            if let Some(hold) = hold.take().filter(|_| !is_late) {
                hold.settle(&owner.run_id, cost.max(held), context.clock().now());
            }
            tracing::info!(run = %owner.run_id, status = %status, reason, "a run left by another process is closed");
            // What was left for a run that had its record before can only be a request of its own.
            if status != RunStatus::Interrupted || is_late {
                hand_on(context, &run, status, follow_ups).await;
            }
        }
        Owned::Fenced | Owned::UnknownRun => {
            tracing::warn!(run = %owner.run_id, "a run left by another process was taken from here too");
        }
    }
    Ok(())
}

/// The record of a run that ends here.
fn record_of(run: &Reclaimed, stored: Stored, closing: Closing) -> RunRecord {
    let mut record = closing_record(run, stored.events, closing);
    record.event_count = record.event_count.max(stored.at_least);
    record.truncated = record.event_count != record.stored_event_count;
    record
}

/// Whether it may have cost more than its last step says: only a process that leaves a run in good order has told all.
fn may_have_cost_more(run: &Reclaimed, told: Option<u64>) -> bool {
    let is_lost_before = Attempts::of(&run.row.state).is_some_and(|before| before.attempts > 0);
    told.is_none() || run.reclaimed_from != Phase::Handoff || is_lost_before
}

/// What was left for the run since it was taken over. Whoever leaves something later finds it in `finishing`, and tells its
/// sender that it is not read. The status comes first: another process that finds it there closes it as this one would.
async fn last_news(live: &Live, run: &Reclaimed, status: RunStatus) -> Result<Vec<Followup>, StoreError> {
    let read = run.last_step.as_ref().map(|step| step.inbox_consumed_seq);
    let Some(inbox_after) = run.inbox.iter().map(|follow_up| follow_up.seq).chain(read).max() else {
        // A stray, for one: what of its inbox was read is not known, and to say it again would be worse.
        return Ok(Vec::new());
    };
    let owner = live.owner(&run.row.run_id);
    let mut state = run.row.state.clone();
    state.insert(resume::FINAL_STATUS.to_owned(), status.as_str().into());
    state.insert(REPLIED.to_owned(), true.into());
    let stored = live.ledger().state(&owner, &state).await?;
    if stored != Owned::Done(()) {
        // Another process has it: its record counts.
        return Ok(Vec::new());
    }
    // At a second attempt it is there already, which is as good.
    Policy::RECORD.run(&owner.run_id, || live.ledger().finishing(&owner)).await?;
    let news = [News { run: owner.run_id.clone(), events: Vec::new(), inbox_after }];
    let flush = || live.ledger().flush(live.generation(), None, &news);
    let told = Policy::RECORD.run(&owner.run_id, flush).await?;
    let told = told.into_iter().filter_map(|told| match told {
        Owned::Done(Told { inbox, .. }) => Some(inbox),
        Owned::Fenced | Owned::UnknownRun => None,
    });
    Ok(told.flatten().collect())
}

/// Follow-ups that no step has read.
fn unread<'a>(inbox: impl Iterator<Item = &'a Followup>) -> Vec<FollowUp> {
    let notes = inbox.filter_map(|follow_up| {
        let note = Note::read(follow_up.message.clone())?;
        Some(FollowUp { note, inbox_seq: Some(follow_up.seq), sender: None })
    });
    notes.collect()
}

/// What becomes of follow-ups of a run that had ended by itself, or was stopped.
async fn hand_on(context: &RunContext, run: &Reclaimed, status: RunStatus, follow_ups: Vec<FollowUp>) {
    let (Some(io), Ok(meta)) = (reopened(context, run), Meta::of_row(&run.row.meta)) else { return };
    let facts = meta.facts();
    let mut leftovers = Leftovers::of(&Unreader { status, facts: &facts, io: &io }, follow_ups.into_iter());
    leftovers.hand_back().await;
    leftovers.run(context);
}

/// What was said to a run that was cut off, for its record: without the run it belongs to, it is no request.
fn note_unread(context: &RunContext, stored: &mut Stored, follow_ups: &[FollowUp]) {
    for follow_up in follow_ups {
        note(context, stored, NoteKind::FollowUp, format!("not read: {}", follow_up.note.text));
    }
}

/// Adds a note to a record's events, behind all others, those included that are not to be had: viewers saw their seqs.
pub(super) fn note(context: &RunContext, stored: &mut Stored, kind: NoteKind, summary: String) {
    let last_seq = stored.events.iter().filter_map(|event| event["seq"].as_u64()).max();
    let last_seq = last_seq.unwrap_or_default().max(stored.at_least);
    let body = context.deps().redactor.redact_event(EventBody::note(kind, summary));
    let event = Event { body, seq: last_seq + 1, at: Some(context.clock().now()), span_id: None };
    stored.events.extend(serde_json::to_value(event));
}

/// The way back to whoever asked for the run.
pub(super) fn reopened(context: &RunContext, run: &Reclaimed) -> Option<Arc<dyn ChannelIo>> {
    context.deps().capabilities.ledger.as_ref()?.channels.reopen(&run.row)
}
