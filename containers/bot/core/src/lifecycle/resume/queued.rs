//! A reclaimed run that waited for a slot: it waits on here, and starts from the stored request.
//! One that had started and stored no step starts again, because no effect happened.

use ars_agent::resume::{Attempts, RunState};
use ars_bot_ports::{IncomingMessage, texts};
use ars_events::{EventBody, NoteKind};
use ars_types::RefName;
use ars_wire::ledger::{LiveRun, Phase, Reclaimed};

use super::{
    close,
    prepare::{deliver_follow_ups, kept, note_dropped, origin},
    read::{self, ReadBudget},
    reserved::Reserved,
    spans,
    stored::Stored,
};
use crate::{
    context::RunContext,
    error::{NotResumed, Refused},
    gates::code_host_of,
    history::Provisional,
    lifecycle::{active::ActiveRun, start},
    limits::{InFlight, RunSlot},
    live::{LedgerClaim, Live, Meta, QueuedRequest, TrackedRun},
    registry::RunHandle,
    request::{PlannedRequest, Request, plan_queued},
    run::{Assignment, BoundModel},
    threads::{Claim, ThreadWork},
};

/// The event text of a run that starts again.
const STARTED_AGAIN: &str = "started again in another process; the first one stored no step";

/// A reclaimed run that is ready to wait.
pub(super) struct WaitingRun {
    active: ActiveRun,
    assignment: Assignment,
    request: QueuedMessage,
    slot: RunSlot,
}

struct QueuedMessage {
    message: IncomingMessage,
    planned: PlannedRequest,
}

/// Returns the request of a run that waits, or `None` for any other run.
pub(super) fn request_of(run: &Reclaimed) -> Option<QueuedRequest> {
    let state = RunState::of_row(&run.row.state);
    let is_begun = run.last_step.is_some() || state.unresumable.is_some();
    let waits = !is_begun && run.reclaimed_from != Phase::Finishing && !state.has_ended();
    QueuedRequest::of_state(state.queued.as_ref()).filter(|_| waits)
}

/// Returns the run's place in the queue.
pub(super) fn place_of(context: &RunContext, meta: &Meta) -> RunSlot {
    let caller = context.settings().caller(&meta.user_id);
    RunSlot::Awaited(context.slots().wait(&caller, meta.received_at))
}

/// Removes the request of a started run from an orphan's row.
/// An orphan's row does not show whether a step is stored.
pub(super) fn forget_started(row: &mut LiveRun) {
    let mut state = RunState::of_row(&row.state);
    if state.attempts.is_some() && state.queued.take().is_some() {
        row.state = state.to_row();
    }
}

/// Prepares the run to wait.
pub(super) async fn prepare(
    context: &RunContext,
    run: &Reclaimed,
    stored: &Stored,
    request: QueuedRequest,
    reserved: &mut Reserved,
    budget: &mut ReadBudget,
    in_flight: InFlight,
) -> Result<WaitingRun, NotResumed> {
    let Some(live) = context.live() else {
        return Err(Refused::Channel.into());
    };
    let starts = RunState::of_row(&run.row.state).attempts;
    let starts = starts.map(|before| before.restarted(run.reclaimed_from));
    if let Some(starts) = starts {
        if starts.is_too_many() {
            return Err(Refused::NoStep.into());
        }
        // The turns of the lost start, which the new one may not overwrite completely.
        read::clear_conversation(live, run, budget).await?;
    }
    let waiting = restore(context, run, stored, request, starts, reserved, in_flight).await?;
    Ok(waiting)
}

/// Restores the run, which left the queue so often before.
async fn restore(
    context: &RunContext,
    run: &Reclaimed,
    stored: &Stored,
    request: QueuedRequest,
    starts: Option<Attempts>,
    reserved: &mut Reserved,
    in_flight: InFlight,
) -> Result<WaitingRun, Refused> {
    let meta = Meta::of_row(&run.row.meta)?;
    let (Some(io), Some(live)) = (close::reopened(context, run), context.live()) else {
        return Err(Refused::Channel);
    };
    let (message, io) = request.reopen(&meta, io, context.tokens()).await?;
    let request = Request {
        message,
        io,
        may_wait: true,
        in_flight,
    };
    let planned = plan_queued(context, &request)
        .await
        .map_err(|refusal| Refused::Request(texts::refusal(&refusal)))?;
    let Request {
        message,
        io,
        in_flight,
        ..
    } = request;

    let agent = planned.resolved.agent;
    let git_ref = planned.parsed.choices.git_ref.as_ref().map(RefName::as_str);
    let repository = planned.plan.repository().filter(|_| agent.needs_repository);
    let work = ThreadWork {
        agent: agent.name,
        repository,
        git_ref,
    };
    let since = run.row.started_at.rounded();
    let thread = context
        .threads()
        .claim(&message.thread_key, work, since)
        .map_err(|_| Refused::Thread)?;
    // Before the inbox, which has the changes of the request.
    thread
        .mailbox()
        .await_request(message.idempotency.as_ref(), &message.actor.id);
    let (handle, tracked) = register(context, live, run, stored, starts, &meta, &thread)?;
    let (spans, root) = spans::continued(&stored.events, meta.received_at);
    let root = root.unwrap_or_else(|| spans.start(&handle, None, "request", meta.received_at));
    let mut assignment = assignment(context, &message, &planned);
    assignment.limit_to(reserved.hold.take());
    let slot = reserved
        .slot
        .take()
        .unwrap_or_else(|| place_of(context, &meta));
    let active = ActiveRun {
        run: handle,
        spans,
        request: root,
        thread,
        claim: LedgerClaim::Confirmed(Box::new(tracked)),
        provisional: Provisional::settled(),
        io,
        in_flight,
    };
    Ok(WaitingRun {
        active,
        assignment,
        request: QueuedMessage { message, planned },
        slot,
    })
}

/// Delivers waiting follow-ups, registers the run here, and tracks it in the ledger.
fn register(
    context: &RunContext,
    live: &Live,
    run: &Reclaimed,
    stored: &Stored,
    starts: Option<Attempts>,
    meta: &Meta,
    thread: &Claim,
) -> Result<(RunHandle, TrackedRun), Refused> {
    let dropped = deliver_follow_ups(context, run, 0, thread, meta);
    let state = RunState {
        attempts: starts,
        ..RunState::of_row(&run.row.state)
    };
    let origin = origin(run, &state, kept(&stored.events), context.clock().now());
    let handle = context
        .registry()
        .restore(run.row.run_id.clone(), meta.facts(), origin)
        .map_err(|_| Refused::Randomness)?;
    thread.set_run(handle.id());
    // Before the run is tracked, so that the notes are in the stored head.
    note_dropped(&handle, dropped);
    let tracked = live.track(&handle, thread.mailbox(), stored.flushed);
    tracked.adopt_state(state);
    if starts.is_some() {
        handle.publish(EventBody::note(NoteKind::Resumed, STARTED_AGAIN));
    }
    Ok((handle, tracked))
}

fn assignment(
    context: &RunContext,
    message: &IncomingMessage,
    planned: &PlannedRequest,
) -> Assignment {
    let PlannedRequest { resolved, plan, .. } = planned;
    let model = BoundModel {
        name: plan.choice.model.clone(),
        client: plan.client.clone(),
    };
    let thread = message.thread_key.as_str();
    let code_host = code_host_of(context.deps(), &resolved.actor, thread);
    let effort = plan.choice.effort;
    Assignment::new(context.deps(), resolved.agent, model, effort, code_host)
}

impl WaitingRun {
    /// Waits for a slot, and drives the run to its end.
    pub(super) async fn start(self, context: &RunContext) {
        let Self {
            active,
            assignment,
            request: QueuedMessage { message, planned },
            slot,
        } = self;
        tracing::info!(run = %active.run.id(), "reclaimed run waits for a slot");
        active.continued().await;
        start::begin(context, active, assignment, slot, message, planned).await;
    }
}
