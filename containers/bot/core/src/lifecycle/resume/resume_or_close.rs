//! Resumes a reclaimed run, or closes it (docs/reference/ledger.md#resume).
//!
//! Not here: repeated attempts (`reclaim_loop`).

use ars_agent::{
    Effects,
    resume::{self, Decision, RunState},
};
use ars_bot_ports::{ChannelEvent, StoreError, StoreErrorKind};
use ars_bot_tools::{Tool, agents};
use ars_events::NoteKind;
use ars_types::RunStatus;
use ars_wire::{ledger::Reclaimed, transcript::Transcript};
use serde_json::Value;

use super::{
    close,
    prepare::{self, ResumePoint},
    queued,
    read::{self, ReadBudget},
    reserved::Reserved,
    stored::Stored,
};
use crate::{
    context::RunContext,
    day_spend::Hold,
    error::{NotResumed, Refused},
    limits::InFlight,
    live::{Live, Meta, transcript_size},
    run::Toolbox,
};

/// Makes an attempt. The reservations are taken once the run is resumed or closed.
///
/// # Errors
/// A store failed in a way that another attempt may repair.
pub(super) async fn resume_or_close(
    context: &RunContext,
    mut run: Reclaimed,
    reserved: &mut Reserved,
    budget: &mut ReadBudget,
    in_flight: InFlight,
) -> Result<(), StoreError> {
    let Some(live) = context.live() else {
        return Ok(());
    };
    if !budget
        .keeps_lease(live, &live.owner(&run.row.run_id))
        .await?
    {
        tracing::warn!(run = %run.row.run_id, "reclaimed run fenced out");
        return Ok(());
    }
    let point = resume_point(live, &run, budget).await;
    if let Err(NotResumed::Retry(error)) = point {
        return Err(error);
    }
    let (stored, point) = match events(live, &run, budget).await {
        Ok(events) => (Stored::new(&run, events), point),
        Err(NotResumed::Retry(error)) => return Err(error),
        Err(reason) => (Stored::without_events(&run), point.and(Err(reason))),
    };
    // A run that ended in an outage without a permit lacks the mark. The stored answer shows that
    // it may have replied, and a resume would reply again.
    let mut state = RunState::of_row(&run.row.state);
    let may_have_replied = !state.replied.unwrap_or_else(|| stored.answer().is_none());
    if may_have_replied {
        if let Some(status) = reply_again(context, &run, &stored).await {
            let reason = "it had ended; its reply was repeated";
            return close::close(context, run, stored, status, reason, &mut reserved.hold).await;
        }
        // The process died around the reply, so the record must not claim that the requester has
        // it.
        state.clear_final_status();
        run.row.state = state.to_row();
        tracing::info!(run = %run.row.run_id, "reclaimed between its end and its reply");
        let reason = "it had ended; whether it replied is not known";
        return close::interrupted(context, run, stored, reason, &mut reserved.hold).await;
    }
    if let (Some(request), Ok(_)) | (Some(request), Err(NotResumed::Decided { .. })) =
        (queued::request_of(&run), &point)
    {
        let waiting =
            queued::prepare(context, &run, &stored, request, reserved, budget, in_flight).await;
        return match waiting {
            Ok(waiting) => {
                waiting.start(context).await;
                Ok(())
            }
            Err(reason) => close(context, run, stored, reason, &mut reserved.hold).await,
        };
    }
    let hold = &mut reserved.hold;
    let prepared = match point {
        Ok(point) => prepare::prepare(context, &run, &stored, point, hold, in_flight).await,
        Err(reason) => return close(context, run, stored, reason, hold).await,
    };
    match prepared {
        Ok(prepared) => {
            prepared.resume(context, reserved.slot.take()).await;
            Ok(())
        }
        Err(NotResumed::Refused(refused)) if budget.allows_retry(&refused) => Err(StoreError {
            kind: StoreErrorKind::Transient,
            message: refused.to_string(),
        }),
        Err(reason) => close(context, run, stored, reason, hold).await,
    }
}

/// Closes a run that is not resumed.
///
/// # Errors
/// A store failed in a way that another attempt may repair.
async fn close(
    context: &RunContext,
    run: Reclaimed,
    stored: Stored,
    reason: NotResumed,
    hold: &mut Option<Hold>,
) -> Result<(), StoreError> {
    match reason {
        NotResumed::Retry(error) => Err(error),
        NotResumed::Decided { status, reason } => {
            close::close(context, run, stored, status, &reason, hold).await
        }
        NotResumed::Refused(refused) => refuse(context, run, stored, &refused, hold).await,
    }
}

/// Repeats an ended run's reply, if the channel repeats replies. Returns the run's status.
async fn reply_again(context: &RunContext, run: &Reclaimed, stored: &Stored) -> Option<RunStatus> {
    let io = close::reopened(context, run).filter(|io| io.traits().repeats_replies)?;
    io.send(ChannelEvent::Reply(stored.answer()?.to_owned()))
        .await
        .ok()?;
    Some(
        RunState::of_row(&run.row.state)
            .final_status()
            .unwrap_or(RunStatus::Completed),
    )
}

/// Decides where the run resumes.
/// The conversation is read only for a run that may resume, because a long one takes a while and may be unreadable.
async fn resume_point(
    live: &Live,
    run: &Reclaimed,
    budget: &mut ReadBudget,
) -> Result<ResumePoint, NotResumed> {
    let transcript = if resume::needs_transcript(run) {
        read::conversation(live, run, budget).await?
    } else {
        Transcript::default()
    };
    let size = transcript_size(&transcript);
    match resume::decide(run, transcript, effects(run)) {
        Decision::Close { status, reason } => Err(NotResumed::Decided {
            status,
            reason: reason.to_string(),
        }),
        Decision::Resume(resume) => Ok(ResumePoint::at_record(resume, size)),
        Decision::RunStep(step) => Ok(ResumePoint::at_step(step, size)),
    }
}

/// Reads the events, unless the store rejects records with them.
async fn events(
    live: &Live,
    run: &Reclaimed,
    budget: &mut ReadBudget,
) -> Result<Vec<Value>, NotResumed> {
    if budget.is_record_rejected() {
        return Err(Refused::Record.into());
    }
    read::events(live, &run.row.run_id, budget).await
}

/// Closes a run that cannot be resumed here, unless another process owns it.
async fn refuse(
    context: &RunContext,
    run: Reclaimed,
    mut stored: Stored,
    refused: &Refused,
    hold: &mut Option<Hold>,
) -> Result<(), StoreError> {
    if matches!(refused, Refused::Fenced) {
        return Ok(());
    }
    if refused.is_of_tree() {
        close::note(
            context,
            &mut stored,
            NoteKind::SandboxDead,
            refused.to_string(),
        );
    }
    if matches!(refused, Refused::TokenRemoved) {
        // The sender reads why nothing was run.
        close::note(context, &mut stored, NoteKind::Queued, refused.to_string());
    }
    close::interrupted(context, run, stored, &refused.to_string(), hold).await
}

/// Returns the effects of tools that the run's agent has in this process.
fn effects(run: &Reclaimed) -> impl Fn(&str) -> Option<Effects> + use<> {
    let agent = Meta::of_row(&run.row.meta)
        .ok()
        .and_then(|meta| agents::find(&meta.agent));
    let tools = agent.map(|agent| Toolbox::new(agent.toolset.tools()));
    move |name: &str| tools.as_ref()?.find(name).map(Tool::effects)
}
