//! A reclaimed run that waited for a slot: it waits on here, and starts from its stored request.

use ars_agent::resume::RunState;
use ars_bot_ports::texts;
use ars_types::RefName;
use ars_wire::ledger::{Phase, Reclaimed};

use super::{
    close,
    prepare::{deliver_follow_ups, kept, origin},
    spans,
    stored::Stored,
};
use crate::{
    context::RunContext,
    day_spend::Hold,
    dispatch::{PlannedRequest, Request, plan_queued},
    error::Refused,
    history::Provisional,
    in_flight::InFlight,
    lifecycle::{active::ActiveRun, start},
    live::{LedgerClaim, Meta, QueuedRequest},
    load_limits::caller,
    run::{Assignment, BoundModel},
    slots::RunSlot,
    threads::Work,
};

/// A reclaimed run that is ready to wait.
pub(super) struct WaitingRun {
    active: ActiveRun,
    assignment: Assignment,
    request: QueuedMessage,
    slot: RunSlot,
}

struct QueuedMessage {
    message: ars_bot_ports::IncomingMessage,
    planned: PlannedRequest,
}

/// Returns the request of a run that waits, or `None` for any other run.
pub(super) fn request_of(run: &Reclaimed) -> Option<QueuedRequest> {
    let state = RunState::of_row(&run.row.state);
    let is_begun = run.last_step.is_some() || state.unresumable.is_some();
    let waits = !is_begun && run.reclaimed_from != Phase::Finishing && !state.has_ended();
    QueuedRequest::of_state(state.queued.as_ref()).filter(|_| waits)
}

/// Prepares the run to wait. The error closes it.
pub(super) async fn prepare(
    context: &RunContext,
    run: &Reclaimed,
    stored: &Stored,
    request: QueuedRequest,
    hold: &mut Option<Hold>,
    in_flight: InFlight,
) -> Result<WaitingRun, Refused> {
    let meta = Meta::of_row(&run.row.meta)?;
    let (Some(io), Some(live)) = (close::reopened(context, run), context.live()) else {
        return Err(Refused::Channel);
    };
    let (message, io) = request.reopen(&meta, io).ok_or(Refused::Channel)?;
    let request = Request { message, io, may_wait: true, in_flight };
    let planned =
        plan_queued(context, &request).await.map_err(|refusal| Refused::Request(texts::refusal(&refusal)))?;
    let Request { message, io, in_flight, .. } = request;

    let agent = planned.resolved.agent;
    let git_ref = planned.parsed.choices.git_ref.as_ref().map(RefName::as_str);
    let repository = planned.plan.repository().filter(|_| agent.needs_repository);
    let work = Work { agent: agent.name, repository, git_ref };
    let since = run.row.started_at.rounded();
    let thread = context.threads().claim(&message.thread_key, work, since).map_err(|_| Refused::Thread)?;
    deliver_follow_ups(run, 0, &thread);
    let state = RunState::of_row(&run.row.state);
    let origin = origin(run, &state, kept(&stored.events));
    let handle = context.registry().restore(run.row.run_id.clone(), meta.facts(), origin);
    let handle = handle.map_err(|_| Refused::Randomness)?;
    thread.set_run(handle.id());
    let tracked = live.track(&handle, thread.mailbox(), stored.flushed);
    tracked.adopt(0, 0, state).await;
    let (spans, root) = spans::of(&stored.events, meta.received_at);
    let root = root.unwrap_or_else(|| spans.start(&handle, None, "request", meta.received_at));

    let model = BoundModel { name: planned.plan.choice.model.clone(), client: planned.plan.client.clone() };
    let mut assignment = Assignment::of(context.deps(), agent, model, planned.plan.choice.effort);
    assignment.hold = hold.take();
    let slot = RunSlot::Awaited(context.slots().wait(&caller(&meta.user_id), meta.received_at));
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
    Ok(WaitingRun { active, assignment, request: QueuedMessage { message, planned }, slot })
}

impl WaitingRun {
    /// Waits for a slot, and drives the run to its end.
    pub(super) async fn start(self, context: &RunContext) {
        let Self { active, assignment, request: QueuedMessage { message, planned }, slot } = self;
        tracing::info!(run = %active.run.id(), "reclaimed run waits for a slot");
        start::begin(context, active, assignment, slot, &message, &planned).await;
    }
}
