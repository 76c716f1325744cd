//! Going on with a run: everything that its first process had, made anew around what was stored.

use std::sync::Arc;

use ars_agent::{
    Loop, Position, Saved, Turn,
    resume::{Attempts, Resume, RunStep, fresh_note},
};
use ars_bot_ports::{ChannelIo, StoreError, StoreErrorKind};
use ars_bot_tools::{agents, verdict_in};
use ars_types::{RunStatus, ThreadKey};
use ars_wire::ledger::{Reclaimed, StepRecord};
use serde_json::Value;

use super::{Refused, since, spans, stored::Stored, tree};
use crate::{
    conclude::{self, Conclusion},
    context::RunContext,
    day_spend::Hold,
    history::HistoryWriter,
    in_flight::InFlight,
    leftovers::{self, Unreader},
    live::{Meta, Stepped, Tracked, VIEW_TOKEN},
    memory::Remembering,
    registry::{Kept, Origin, RunHandle},
    run::{Assignment, First, Resumption, Voice},
    threads::{Claim, Closed, FollowUp, Note, Work},
};

/// Where a run stands that goes on.
pub(super) struct Stand {
    turns: Vec<Turn>,
    /// Of what is stored of them.
    size: usize,
    record: StepRecord,
    attempts: Attempts,
    first: First,
}

impl Stand {
    /// At its last step.
    pub(super) fn resumed(resume: Resume, size: usize) -> Self {
        let Resume { turns, settle, record, attempts } = resume;
        let first = if settle.is_empty() { First::CallModel } else { First::Settle(settle) };
        Self { turns, size, record, attempts, first }
    }

    /// At a step whose record was lost.
    pub(super) fn at_step(step: RunStep, size: usize) -> Self {
        let RunStep { turns, calls, record, attempts } = step;
        Self { turns, size, record, attempts, first: First::RunStep(calls) }
    }
}

/// A run ready to go on.
pub(super) struct Ready {
    conclusion: Conclusion,
    assignment: Assignment,
    resumption: Resumption,
    memory: Option<Remembering>,
}

/// Makes everything ready. The outer error is the store's; the inner one closes the run.
pub(super) async fn prepare(
    context: &RunContext,
    run: &Reclaimed,
    stored: &Stored,
    stand: Stand,
    hold: &mut Option<Hold>,
    in_flight: InFlight,
) -> Result<Result<Ready, Refused>, StoreError> {
    let meta = match Meta::of_row(&run.row.meta) {
        Ok(meta) => meta,
        Err(error) => return Ok(Err(error.into())),
    };
    let mut assignment = match assignment(context, run, &meta).await {
        Ok(assignment) => assignment,
        Err(refused) => return Ok(Err(refused)),
    };
    let claim = match claim(context, &assignment, &meta, run) {
        Ok(claim) => claim,
        Err(refused) => return Ok(Err(refused)),
    };
    let Some(saved) = Saved::of(&stand.record) else { return Ok(Err(Refused::NoLoop)) };
    let io = super::close::reopened(context, run);
    let (Some(io), Some(live)) = (io, context.live()) else { return Ok(Err(Refused::Channel)) };

    leave_follow_ups(run, &stand.record, &claim);
    let Stored { events, flushed, .. } = stored;
    let kept = kept(events);
    let Ok(handle) = context.registry().restore(run.row.run_id.clone(), meta.facts(), origin(run, kept))
    else {
        return Ok(Err(Refused::Randomness));
    };
    claim.set_run(handle.id());
    let tracked = live.track(&handle, claim.mailbox(), *flushed);
    let mut state = run.row.state.clone();
    stand.attempts.store(&mut state);
    let told = since::told(&mut state, &stand.record, &stand.first, events);
    tracked.adopt(stand.turns.len() as u64, stand.size, state).await;
    // Counted before anything is done, or a run that kills its process would be resumed for ever.
    let counted = count(context, &tracked).await;
    if counted != Stepped::Stored {
        return give_back(context, &handle, &claim, &io, counted).await;
    }
    let (spans, request) = spans::of(events, meta.received_at);
    let request = request.unwrap_or_else(|| spans.start(&handle, None, "request", meta.received_at));
    if let First::RunStep(calls) = &stand.first {
        handle.publish(fresh_note(calls));
    }
    if let (Some(slot), Some(verdict)) = (&assignment.verdict, verdict_in(&stand.turns)) {
        slot.submit(verdict);
    }
    let now = context.clock().now();
    let mut agent_loop = Loop::resume(saved, Position::from(&stand.record), stand.turns, now);
    // The step may have been made on the fallback; the run's own model is asked again. Without a price under a cap
    // nothing changes, and the loop ends the run itself.
    let limits = assignment.full_limits();
    let _ = agent_loop.switch_model(limits.price, limits.context);
    assignment.hold = hold.take();
    let provisional = HistoryWriter::begun();
    let conclusion = Conclusion {
        run: handle,
        spans,
        request,
        claim,
        tracked: Some(tracked),
        listening: None,
        provisional,
        io,
        in_flight,
    };
    let resumption =
        Resumption { agent_loop, first: stand.first, told, has_reading_diff: has_reading_diff(events) };
    let memory = Remembering::of_state(&run.row.state);
    Ok(Ok(Ready { conclusion, assignment, resumption, memory }))
}

/// A process that had come to its answer told the diff before it. A second one would say that there were two reviews.
fn has_reading_diff(events: &[Value]) -> bool {
    events.iter().any(|event| event["type"] == "review_artifact" && event["artifact"] == "reading_diff")
}

/// Where the registry puts the run back.
fn origin(run: &Reclaimed, events: Vec<Kept>) -> Origin {
    Origin {
        token: run.row.state.get(VIEW_TOKEN).and_then(Value::as_str).map(str::to_owned),
        started_at: run.row.started_at.rounded(),
        events,
        stop: run.row.stop,
        is_restored: true,
    }
}

/// Stores that the run is resumed once more, for as long as it takes. The run stays with this process meanwhile: whoever
/// asks it to stop, or writes to it, is told that it will hear of that.
async fn count(context: &RunContext, tracked: &Tracked) -> Stepped {
    loop {
        let counted = tracked.store_state().await;
        if counted != Stepped::NotStored {
            return counted;
        }
        tokio::select! {
            () = tokio::time::sleep(super::AGAIN_AFTER) => {}
            () = context.hand_off().cancelled() => return counted,
        }
    }
}

/// Leaves a run of which no attempt to resume it was stored, with what was taken in for it here.
async fn give_back<T>(
    context: &RunContext,
    run: &RunHandle,
    claim: &Claim,
    io: &Arc<dyn ChannelIo>,
    counted: Stepped,
) -> Result<Result<T, Refused>, StoreError> {
    context.registry().forget(run.id());
    let taken = claim.mailbox().close(Closed::HandedOff);
    let unreader = Unreader { status: RunStatus::Interrupted, facts: &run.view().facts, io };
    leftovers::pass_on(context, run.id(), &unreader, taken.into_iter()).await;
    if counted == Stepped::Lost {
        return Ok(Err(Refused::Lost));
    }
    let message = "the attempt to resume could not be counted".to_owned();
    Err(StoreError { kind: StoreErrorKind::Transient, message })
}

impl Ready {
    /// Goes on to the run's end.
    pub(super) async fn go_on(self, context: &RunContext) {
        let Self { conclusion, assignment, resumption, memory } = self;
        tracing::info!(run = %conclusion.run.id(), "a run left by another process goes on here");
        let driven =
            conclusion.drive(context, &assignment, conclude::Beginning::Stored(Box::new(resumption))).await;
        conclusion.conclude(context, assignment, memory, driven).await;
    }
}

async fn assignment(context: &RunContext, run: &Reclaimed, meta: &Meta) -> Result<Assignment, Refused> {
    let deps = context.deps();
    let agent = agents::find(&meta.agent).ok_or(Refused::Agent)?;
    let client = deps.models.client(&meta.model).map_err(|error| Refused::Model(error.to_string()))?;
    let thread = ThreadKey::from_text(&meta.thread_key).ok_or(Refused::Thread)?;
    let workspace =
        if agent.needs_repository { Some(tree::reopen(context, &thread, meta).await?) } else { None };
    let mut assignment =
        Assignment::of(context.deps(), agent, Voice { name: meta.model.clone(), client }, meta.effort);
    ars_agent::resume::system_of(run).clone_into(&mut assignment.system);
    assignment.workspace = workspace;
    Ok(assignment)
}

fn claim(
    context: &RunContext,
    assignment: &Assignment,
    meta: &Meta,
    run: &Reclaimed,
) -> Result<Claim, Refused> {
    let thread = ThreadKey::from_text(&meta.thread_key).ok_or(Refused::Thread)?;
    let since = run.row.started_at.rounded();
    let work = Work {
        agent: assignment.agent.name,
        repository: meta.repo.as_deref(),
        git_ref: meta.git_ref.as_deref(),
    };
    context.threads().claim(&thread, work, since).map_err(|_| Refused::Thread)
}

/// What the stored conversation does not hold yet.
fn leave_follow_ups(run: &Reclaimed, record: &StepRecord, claim: &Claim) {
    claim.mailbox().begin_after(record.inbox_consumed_seq);
    let unread = run.inbox.iter().filter(|follow_up| follow_up.seq > record.inbox_consumed_seq);
    for follow_up in unread {
        let Some(note) = Note::read(follow_up.message.clone()) else {
            tracing::warn!(run = %run.row.run_id, seq = follow_up.seq, "a follow-up that cannot be read");
            claim.mailbox().skip(follow_up.seq);
            continue;
        };
        // Nobody has closed a mailbox that was made a moment ago.
        let _ = claim.mailbox().put(FollowUp { note, inbox_seq: Some(follow_up.seq), sender: None });
    }
}

fn kept(events: &[Value]) -> Vec<Kept> {
    let kept = events.iter().filter_map(|event| {
        let (seq, json) = (event["seq"].as_u64()?, event.to_string());
        Some(Kept { seq, json: Arc::from(json) })
    });
    kept.collect()
}
