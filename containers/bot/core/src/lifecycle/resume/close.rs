//! Closes a reclaimed run that cannot resume, with a record built from the row and stored events.

use std::sync::Arc;

use ars_agent::{Saved, resume::RunState};
use ars_bot_ports::{Channel, ChannelEvent, FlushBatch, FlushResponse, Owned, StoreError, texts};
use ars_events::{Event, EventBody, NoteKind};
use ars_runs::{ClosedRun, RunRecord, add_posted_review, closing_record};
use ars_types::RunStatus;
use ars_wire::ledger::{Followup, Phase, Reclaimed};

use super::stored::Stored;
use crate::{
    context::RunContext,
    day_spend::Hold,
    history,
    lifecycle::requeue::EndedRun,
    live::{Live, Meta},
    retry::Policy,
    run::ReviewTarget,
    threads::{Closed, FollowUp, Mailbox, Note, SenderFault},
};

/// Closes a run as `interrupted`.
pub(super) async fn interrupted(
    context: &RunContext,
    run: Reclaimed,
    stored: Stored,
    reason: &str,
    hold: &mut Option<Hold>,
) -> Result<(), StoreError> {
    close(context, run, stored, RunStatus::Interrupted, reason, hold).await
}

/// Closes a run with this status, without a reply. The whole reservation counts for the day unless
/// the cost is known.
pub(super) async fn close(
    context: &RunContext,
    run: Reclaimed,
    mut stored: Stored,
    status: RunStatus,
    reason: &str,
    hold: &mut Option<Hold>,
) -> Result<(), StoreError> {
    let Some(live) = context.live() else {
        return Ok(());
    };
    let owner = live.owner(&run.row.run_id);
    let cost = run
        .last_step
        .as_ref()
        .and_then(Saved::from_record)
        .and_then(|saved| saved.cost());
    let held = hold
        .as_ref()
        .map(|hold| hold.cap().run_microusd)
        .filter(|_| may_have_cost_more(&run, cost));
    let closing = ClosedRun {
        status,
        finished_at: context.clock().now(),
        cost,
        reserved: held,
    };
    // A late claim can reach the ledger behind the run's end. Then the run's record stays.
    let record = Policy::RECORD
        .run(&owner.run_id, || context.store().get(&owner.run_id))
        .await?;
    let ended = record.filter(|record| !history::is_provisional(record));
    let is_late = ended.is_some();
    let status = ended.as_ref().map_or(status, |record| record.status);
    let late = late_follow_ups(live, &run, status).await?;
    let follow_ups = unread(run.inbox.iter().chain(&late));
    if status == RunStatus::Interrupted && !is_late {
        note_unread(context, &mut stored, &follow_ups);
    } else if !is_late {
        note_without_token(context, &run, &mut stored, &follow_ups);
    }
    let record = ended.unwrap_or_else(|| record_of(&run, stored, closing));
    let finished = Policy::RECORD
        .run(&owner.run_id, || live.ledger().finish(&owner, &record))
        .await?;
    match finished {
        Owned::Done(_) => {
            if let Some(hold) = hold.take().filter(|_| !is_late) {
                hold.settle(&owner.run_id, cost.max(held), context.clock().now());
            }
            tracing::info!(run = %owner.run_id, status = %status, reason, "reclaimed run closed");
            if let Some(io) = reopened(context, &run) {
                let run = run.row.run_id.clone();
                io.inform(ChannelEvent::RunFinished { run, status }).await;
            }
            if status == RunStatus::Interrupted && !is_late {
                announce_interruption(context, &run).await;
            }
            // A follow-up for a run that already had a record can only be a turn.
            if status != RunStatus::Interrupted || is_late {
                requeue(context, &run, status, follow_ups).await;
            }
        }
        Owned::Fenced | Owned::UnknownRun => {
            tracing::warn!(run = %owner.run_id, "reclaimed run fenced out");
        }
    }
    Ok(())
}

/// Announces the interruption, if the channel repeats replies.
async fn announce_interruption(context: &RunContext, run: &Reclaimed) {
    let Some(io) = reopened(context, run).filter(|io| io.traits().repeats_replies) else {
        return;
    };
    if let Err(error) = io
        .send(ChannelEvent::Reply(texts::INTERRUPTED.to_owned()))
        .await
    {
        tracing::warn!(run = %run.row.run_id, %error, "the end of a run was not announced");
    }
}

/// Returns the record for a run that ends here.
fn record_of(run: &Reclaimed, stored: Stored, closing: ClosedRun) -> RunRecord {
    let mut record = closing_record(run, stored.events, closing);
    record.event_count = record.event_count.max(stored.at_least);
    record.truncated = record.event_count != record.stored_event_count;
    let review = ReviewTarget::of_state(RunState::of_row(&run.row.state).review.as_ref());
    add_posted_review(
        &mut record,
        review.and_then(|review| review.posted).as_ref(),
    );
    history::add_checkpoint(&mut record);
    record
}

/// Returns whether the run may have cost more than the last step records. Only a handoff records
/// everything.
fn may_have_cost_more(run: &Reclaimed, recorded: Option<u64>) -> bool {
    let attempts = RunState::of_row(&run.row.state).attempts;
    let was_lost_before = attempts.is_some_and(|before| before.attempts > 0);
    recorded.is_none() || run.reclaimed_from != Phase::Handoff || was_lost_before
}

/// Returns the follow-ups that arrived since the run was reclaimed.
/// The run is `finishing` first, so that later senders learn that it reads none. The status precedes the phase, so that
/// another process would close the run in the same way.
async fn late_follow_ups(
    live: &Live,
    run: &Reclaimed,
    status: RunStatus,
) -> Result<Vec<Followup>, StoreError> {
    let read = run.last_step.as_ref().map(|step| step.inbox_consumed_seq);
    let Some(inbox_after) = run
        .inbox
        .iter()
        .map(|follow_up| follow_up.seq)
        .chain(read)
        .max()
    else {
        // An orphan's row does not show which follow-ups were read, and running a follow-up twice
        // would be worse.
        return Ok(Vec::new());
    };
    let owner = live.owner(&run.row.run_id);
    let mut state = RunState::of_row(&run.row.state);
    state.set_ended(status, true);
    let stored = live.ledger().state(&owner, &state.to_row()).await?;
    if stored != Owned::Done(()) {
        // The owner's record counts.
        return Ok(Vec::new());
    }
    // A second attempt is refused because the run is `finishing` already.
    Policy::RECORD
        .run(&owner.run_id, || live.ledger().finishing(&owner))
        .await?;
    let batch = [FlushBatch {
        run: owner.run_id.clone(),
        events: Vec::new(),
        inbox_after,
    }];
    let flush = || live.ledger().flush(live.generation(), None, &batch);
    let answers = Policy::RECORD.run(&owner.run_id, flush).await?;
    let answers = answers.into_iter().filter_map(|answer| match answer {
        Owned::Done(FlushResponse { inbox, .. }) => Some(inbox),
        Owned::Fenced | Owned::UnknownRun => None,
    });
    Ok(answers.flatten().collect())
}

/// Returns the readable follow-ups, with the changes among them applied.
fn unread<'a>(inbox: impl Iterator<Item = &'a Followup>) -> Vec<FollowUp> {
    let mailbox = Mailbox::default();
    for follow_up in inbox {
        let Some(note) = Note::read(follow_up.message.clone()) else {
            continue;
        };
        // The mailbox is new, so it is open.
        let _ = mailbox.put(FollowUp {
            note,
            inbox_seq: Some(follow_up.seq),
            sender: None,
        });
    }
    mailbox.close(Closed::Ended)
}

/// Rejects or dispatches follow-ups for a run that had ended or was stopped.
async fn requeue(
    context: &RunContext,
    run: &Reclaimed,
    status: RunStatus,
    follow_ups: Vec<FollowUp>,
) {
    let (Some(io), Ok(meta)) = (reopened(context, run), Meta::of_row(&run.row.meta)) else {
        return;
    };
    let facts = meta.facts();
    let ended = EndedRun {
        status,
        facts: &facts,
        io: &io,
        tokens: context.tokens(),
    };
    let runnable = ended.reject(follow_ups).await;
    ended.dispatch(context, &runnable).await;
}

/// Adds an interrupted run's follow-ups to the record, because without the run they are no
/// requests.
fn note_unread(context: &RunContext, stored: &mut Stored, follow_ups: &[FollowUp]) {
    for follow_up in follow_ups {
        note(
            context,
            stored,
            NoteKind::FollowUp,
            format!("not read: {}", follow_up.note.quoted()),
        );
    }
}

/// Adds follow-ups with removed tokens to the run's record, because they are not dispatched.
fn note_without_token(
    context: &RunContext,
    run: &Reclaimed,
    stored: &mut Stored,
    follow_ups: &[FollowUp],
) {
    let Ok(meta) = Meta::of_row(&run.row.meta) else {
        return;
    };
    let is_dropped = |note: &Note| {
        note.sender(context.tokens(), &meta.channel_id) == Err(SenderFault::TokenRemoved)
    };
    for follow_up in follow_ups
        .iter()
        .filter(|follow_up| is_dropped(&follow_up.note))
    {
        note(
            context,
            stored,
            NoteKind::FollowUp,
            texts::follow_up_without_token(&follow_up.note.quoted()),
        );
    }
}

/// Adds a note behind all other events, including unreadable ones, because viewers saw their seqs.
pub(super) fn note(context: &RunContext, stored: &mut Stored, kind: NoteKind, summary: String) {
    let last_seq = stored
        .events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .max();
    let last_seq = last_seq.unwrap_or_default().max(stored.at_least);
    let body = context
        .deps()
        .redactor
        .redact_event(EventBody::note(kind, summary));
    let event = Event {
        body,
        seq: last_seq + 1,
        at: Some(context.clock().now()),
        span_id: None,
    };
    stored.events.extend(serde_json::to_value(event));
}

/// Reopens the run's channel.
pub(super) fn reopened(context: &RunContext, run: &Reclaimed) -> Option<Arc<dyn Channel>> {
    context
        .deps()
        .capabilities
        .ledger
        .as_ref()?
        .channels
        .reopen(&run.row)
}
