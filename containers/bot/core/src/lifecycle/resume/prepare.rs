//! Prepares a reclaimed run: rebuilds everything that its first process had around its stored parts.

use std::sync::Arc;

use ars_agent::{
    Input, Loop, Position, Saved, Steered, Turn,
    resume::{Attempts, Resume, RunState, RunStep, fresh_note, system_of},
};
use ars_bot_ports::{Channel, StoreError, StoreErrorKind, Workspace, WorkspaceError, texts};
use ars_bot_tools::{agents, description_in, verdict_in};
use ars_events::{EventBody, NoteKind};
use ars_types::{RefName, RunStatus, ThreadKey, UnixMillis};
use ars_wire::ledger::{Reclaimed, StepRecord};
use serde_json::Value;

use super::{close, published, read::BACKOFF, spans, stored::Stored, tree};
use crate::{
    context::RunContext,
    day_spend::Hold,
    error::{NotResumed, Refused},
    gates::code_host_of_user,
    history::Provisional,
    lifecycle::{active::ActiveRun, drive::StartFrom, prepare::commands_in, requeue::EndedRun},
    limits::{InFlight, RunSlot},
    live::{LedgerClaim, Meta, Stepped, TrackedRun},
    memory::Remembering,
    registry::{Kept, Origin, RunHandle},
    run::{
        Assignment, BoundModel, EvidenceLog, First, NamedPullRequest, PreparedRun, Resumption,
        ReviewTarget, Work,
    },
    threads::{Claim, Closed, FollowUp, Note, SenderFault, ThreadWork},
};

/// The point at which a run resumes.
pub(super) struct ResumePoint {
    turns: Vec<Turn>,
    /// Characters of the stored turns.
    size: usize,
    record: StepRecord,
    attempts: Attempts,
    first: First,
}

impl ResumePoint {
    /// At its last step record.
    pub(super) fn at_record(resume: Resume, size: usize) -> Self {
        let Resume {
            turns,
            settle,
            record,
            attempts,
        } = resume;
        let first = if settle.is_empty() {
            First::CallModel
        } else {
            First::Settle(settle)
        };
        Self {
            turns,
            size,
            record,
            attempts,
            first,
        }
    }

    /// At a stored step without its record.
    pub(super) fn at_step(step: RunStep, size: usize) -> Self {
        let RunStep {
            turns,
            calls,
            record,
            attempts,
        } = step;
        Self {
            turns,
            size,
            record,
            attempts,
            first: First::RunStep(calls),
        }
    }
}

/// A run that is ready to resume.
pub(super) struct ResumableRun {
    active: ActiveRun,
    prepared: PreparedRun,
    resumption: Resumption,
    memory: Option<Remembering>,
}

/// Prepares the run to resume.
pub(super) async fn prepare(
    context: &RunContext,
    run: &Reclaimed,
    stored: &Stored,
    point: ResumePoint,
    hold: &mut Option<Hold>,
    in_flight: InFlight,
) -> Result<ResumableRun, NotResumed> {
    let meta = Meta::of_row(&run.row.meta).map_err(Refused::from)?;
    let mut state = RunState::of_row(&run.row.state);
    let mut prepared = prepared_run(context, run, &meta, &state).await?;
    let thread = claim_thread(context, &prepared.spec, &meta, run)?;
    let saved = Saved::from_record(&point.record).ok_or(Refused::NoLoop)?;
    let io = close::reopened(context, run).ok_or(Refused::Channel)?;
    let live = context.live().ok_or(Refused::Channel)?;
    let read = point.record.inbox_consumed_seq;
    let dropped = deliver_follow_ups(context, run, read, &thread, &meta);
    let Stored {
        events, flushed, ..
    } = stored;
    let memory = Remembering::of_state(state.memory.as_ref());
    let origin = origin(run, &state, kept(events), context.clock().now());
    let handle = context
        .registry()
        .restore(run.row.run_id.clone(), meta.facts(), origin)
        .map_err(|_| Refused::Randomness)?;
    thread.set_run(handle.id());
    note_dropped(&handle, dropped);
    let tracked = live.track(&handle, thread.mailbox(), *flushed);
    state.attempts = Some(point.attempts);
    let published = published::calls(&mut state, &point.record, &point.first, events);
    tracked
        .adopt(point.turns.len() as u64, point.size, state)
        .await;
    // The attempt is stored before any effect. Otherwise a run that kills its process would be resumed endlessly.
    let stored = store_attempt(context, &tracked).await;
    if stored != Stepped::Stored {
        return Err(give_back(context, &handle, &thread, &io, stored).await);
    }
    let (spans, request) = spans::continued(events, meta.received_at);
    let request =
        request.unwrap_or_else(|| spans.start(&handle, None, "request", meta.received_at));
    if let First::RunStep(calls) = &point.first {
        handle.publish(fresh_note(calls));
    }
    restore_submissions(&prepared, &point.turns);
    if let Err(refused) = check_out_target(&prepared, &handle).await {
        tracing::warn!(run = %handle.id(), %refused, "the head under review was not checked out again");
    }
    let position = Position::from(&point.record);
    let now = context.clock().now();
    let mut agent_loop = Loop::resume(saved, position, point.turns, now);
    note_restored(&prepared, &handle, &mut agent_loop, now);
    use_own_model(&prepared, &mut agent_loop);
    prepared.spec.hold = hold.take();
    let active = ActiveRun {
        run: handle,
        spans,
        request,
        thread,
        claim: LedgerClaim::Confirmed(Box::new(tracked)),
        provisional: Provisional::settled(),
        io,
        in_flight,
    };
    let has_reading_diff = has_reading_diff(events);
    let resumption = Resumption {
        agent_loop,
        first: point.first,
        published,
        has_reading_diff,
    };
    Ok(ResumableRun {
        active,
        prepared,
        resumption,
        memory,
    })
}

/// Tries the run's own model again, because the step may have used the fallback.
/// Without a price under a cap nothing changes, and the loop ends the run.
fn use_own_model(prepared: &PreparedRun, agent_loop: &mut Loop) {
    let limits = prepared.full_limits();
    let _ = agent_loop.switch_model(limits.price, limits.context);
}

/// Informs reader and model that the tree is that of a checkpoint.
fn note_restored(prepared: &PreparedRun, run: &RunHandle, agent_loop: &mut Loop, now: UnixMillis) {
    let restored = prepared
        .workspace
        .as_ref()
        .and_then(|workspace| workspace.restored_from());
    let Some(text) = restored.map(texts::tree_restored) else {
        return;
    };
    run.publish(EventBody::note(NoteKind::Tree, text.clone()));
    let text = format!("Note of the service: {text}");
    // The results of calls in flight precede it.
    let note = Steered {
        seq: None,
        text,
        attachments: Vec::new(),
        files: Vec::new(),
        source: None,
    };
    agent_loop.step(Input::Steered(vec![note]), now);
}

/// Returns whether the stream has the reading diff, since a second would look like a second review.
fn has_reading_diff(events: &[Value]) -> bool {
    events
        .iter()
        .any(|event| event["type"] == "review_artifact" && event["artifact"] == "reading_diff")
}

/// Returns the restored part of the run for the registry.
pub(super) fn origin(
    run: &Reclaimed,
    state: &RunState,
    events: Vec<Kept>,
    now: UnixMillis,
) -> Origin {
    Origin {
        token: state.view_token.clone(),
        started_at: run.row.started_at.rounded(),
        events,
        stop: run.row.stop,
        restored_at: Some(now),
    }
}

/// Stores this attempt to resume, for as long as it takes.
/// The run stays with this process, because senders of stops and follow-ups were answered that it receives them.
async fn store_attempt(context: &RunContext, tracked: &TrackedRun) -> Stepped {
    loop {
        let stored = tracked.store_state().await;
        if stored != Stepped::NotStored {
            return stored;
        }
        tokio::select! {
            () = tokio::time::sleep(BACKOFF) => {}
            () = context.hand_off().cancelled() => return stored,
        }
    }
}

/// Removes a run without a stored attempt, and forwards its follow-ups. Returns why it is not resumed.
async fn give_back(
    context: &RunContext,
    run: &RunHandle,
    thread: &Claim,
    io: &Arc<dyn Channel>,
    stored: Stepped,
) -> NotResumed {
    context.registry().forget(run.id());
    let unread = thread.mailbox().close(Closed::HandedOff);
    let (status, tokens) = (RunStatus::Interrupted, context.tokens());
    let ended = EndedRun {
        status,
        facts: &run.view().facts,
        io,
        tokens,
    };
    ended.forward(context, run.id(), unread).await;
    if stored == Stepped::Fenced {
        return Refused::Fenced.into();
    }
    NotResumed::Retry(StoreError {
        kind: StoreErrorKind::Transient,
        message: "the attempt to resume could not be stored".to_owned(),
    })
}

impl ResumableRun {
    /// Resumes the run and drives it to its end. Without a reserved slot it is beyond the limits.
    pub(super) async fn resume(self, context: &RunContext, slot: Option<RunSlot>) {
        let Self {
            active,
            prepared,
            resumption,
            memory,
        } = self;
        tracing::info!(run = %active.run.id(), "reclaimed run resumed");
        active.continued().await;
        let take = || {
            let user = &active.run.view().facts.user_id;
            let caller = context.settings().caller(user);
            context.slots().take_beyond(&caller)
        };
        let slot = slot.unwrap_or_else(|| RunSlot::Free(take()));
        let report = active
            .drive(context, &prepared, StartFrom::Stored(Box::new(resumption)))
            .await;
        drop(slot);
        active.finish(context, prepared, memory, report).await;
    }
}

/// Restores what the agent submitted and read.
fn restore_submissions(prepared: &PreparedRun, turns: &[Turn]) {
    if let (Some(slot), Some((verdict, remarks))) = (prepared.work.verdict(), verdict_in(turns)) {
        slot.submit(verdict, remarks);
    }
    let slot = prepared.work.description();
    if let (Some(slot), Some(description)) = (slot, description_in(turns)) {
        slot.submit(description);
    }
    if let Some(code_host) = &prepared.spec.code_host {
        code_host.read.restore(turns);
    }
}

/// Checks the head under review out, if the previous process died before it did.
/// Otherwise the tree has another commit, and the review is not posted.
async fn check_out_target(prepared: &PreparedRun, run: &RunHandle) -> Result<(), WorkspaceError> {
    let target = prepared
        .work
        .review_target()
        .and_then(|target| Some((target, target.head()?)));
    let (Some((target, head)), Some(workspace)) = (target, &prepared.workspace) else {
        return Ok(());
    };
    match workspace.head().await? {
        Some(at) if at == head.as_str() => Ok(()),
        _ => {
            workspace
                .check_out(target.number, &head, &run.stops().hard)
                .await
        }
    }
}

/// Returns the run with its agent, its tree, and what it had found out about its work.
async fn prepared_run(
    context: &RunContext,
    run: &Reclaimed,
    meta: &Meta,
    state: &RunState,
) -> Result<PreparedRun, Refused> {
    let deps = context.deps();
    let agent = agents::find(&meta.agent).ok_or(Refused::Agent)?;
    let client = deps
        .models
        .client(&meta.model)
        .map_err(|error| Refused::Model(error.to_string()))?;
    let thread = ThreadKey::from_text(&meta.thread_key).ok_or(Refused::Thread)?;
    let workspace = if agent.needs_repository {
        Some(tree::reopen(context, &thread, meta).await?)
    } else {
        None
    };
    let model = BoundModel {
        name: meta.model.clone(),
        client,
    };
    let code_host = code_host_of_user(deps, &meta.user_id, &meta.thread_key);
    let spec = Assignment::new(deps, agent, model, meta.effort, code_host);
    let work = restored_work(context, &spec, workspace.as_deref(), meta, state).await;
    Ok(PreparedRun {
        spec,
        workspace,
        system: system_of(run),
        work,
    })
}

/// Returns the run's work, with what the run had found out about its code host.
async fn restored_work(
    context: &RunContext,
    spec: &Assignment,
    workspace: Option<&dyn Workspace>,
    meta: &Meta,
    state: &RunState,
) -> Work {
    match spec.new_work() {
        Work::Change { description, .. } => Work::Change {
            description,
            evidence: EvidenceLog::of_state(state.evidence.as_ref()),
            commands: commands_in(context, workspace).await,
            base: meta
                .git_ref
                .clone()
                .and_then(|git_ref| RefName::parse(git_ref).ok()),
            named: NamedPullRequest::of_state(state.named.as_ref()),
        },
        Work::Review { verdict, .. } => Work::Review {
            verdict,
            target: ReviewTarget::of_state(state.review.as_ref()),
        },
        Work::Answer => Work::Answer,
    }
}

fn claim_thread(
    context: &RunContext,
    assignment: &Assignment,
    meta: &Meta,
    run: &Reclaimed,
) -> Result<Claim, Refused> {
    let thread = ThreadKey::from_text(&meta.thread_key).ok_or(Refused::Thread)?;
    let since = run.row.started_at.rounded();
    let work = ThreadWork {
        agent: assignment.agent.name,
        repository: meta.repo.as_deref(),
        git_ref: meta.git_ref.as_deref(),
    };
    context
        .threads()
        .claim(&thread, work, since)
        .map_err(|_| Refused::Thread)
}

/// Delivers the follow-ups that the stored conversation lacks.
/// Returns the ones that are dropped because the token of their sender is gone.
pub(super) fn deliver_follow_ups(
    context: &RunContext,
    run: &Reclaimed,
    consumed: u64,
    thread: &Claim,
    meta: &Meta,
) -> Vec<Note> {
    let mailbox = thread.mailbox();
    mailbox.begin_after(consumed);
    let mut dropped = Vec::new();
    let unread = run
        .inbox
        .iter()
        .filter(|follow_up| follow_up.seq > consumed);
    for follow_up in unread {
        let Some(note) = Note::read(follow_up.message.clone()) else {
            tracing::warn!(run = %run.row.run_id, seq = follow_up.seq, "unreadable follow-up skipped");
            mailbox.skip(follow_up.seq);
            continue;
        };
        if note.sender(context.tokens(), &meta.channel_id) == Err(SenderFault::TokenRemoved) {
            mailbox.skip(follow_up.seq);
            dropped.push(note);
            continue;
        }
        // The mailbox is new, so it is open.
        let _ = mailbox.put(FollowUp {
            note,
            inbox_seq: Some(follow_up.seq),
            sender: None,
        });
    }
    dropped
}

/// Adds dropped follow-ups to their run.
pub(super) fn note_dropped(run: &RunHandle, dropped: Vec<Note>) {
    for note in dropped {
        tracing::warn!(run = %run.id(), user = %note.user_id, "follow-up dropped: its token is no longer configured");
        run.publish(EventBody::note(
            NoteKind::FollowUp,
            texts::follow_up_without_token(&note.quoted()),
        ));
    }
}

pub(super) fn kept(events: &[Value]) -> Vec<Kept> {
    let kept = events.iter().filter_map(|event| {
        let (seq, json) = (event["seq"].as_u64()?, event.to_string());
        Some(Kept {
            seq,
            json: Arc::from(json),
        })
    });
    kept.collect()
}
