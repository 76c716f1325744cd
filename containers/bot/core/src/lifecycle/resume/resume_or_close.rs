//! Resumes one reclaimed run, or closes it (docs/reference/ledger.md#resume).
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
    error::Refused,
    in_flight::InFlight,
    live::{Live, Meta, transcript_size},
    run::Toolbox,
};

/// Makes one attempt. The reservations are taken once the run is resumed or closed.
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
    let point = resume_point(live, &run, budget).await?;
    let (stored, point) = match events(live, &run, budget).await? {
        Ok(events) => (Stored::of(&run, events), point),
        Err(refused) => (
            Stored::without_events(&run),
            point.and(Err(NotResumed::Refused(refused))),
        ),
    };
    // A run that ended in an outage without a permit lacks the mark. Its stored answer shows that it may have replied,
    // and a resume would reply again.
    let mut state = RunState::of_row(&run.row.state);
    let may_have_replied = !state.replied.unwrap_or_else(|| stored.answer().is_none());
    if may_have_replied {
        if let Some(status) = reply_again(context, &run, &stored).await {
            let reason = "it had ended; its reply was repeated";
            return close::close(context, run, stored, status, reason, &mut reserved.hold).await;
        }
        // Its process died around the reply, so the record must not claim that the requester has it.
        state.clear_final_status();
        run.row.state = state.to_row();
        tracing::info!(run = %run.row.run_id, "reclaimed between its end and its reply");
        let reason = "it had ended; whether it replied is not known";
        return close::interrupted(context, run, stored, reason, &mut reserved.hold).await;
    }
    if let (Some(request), Ok(_)) | (Some(request), Err(NotResumed::Decided { .. })) =
        (queued::request_of(&run), &point)
    {
        return match queued::prepare(context, &run, &stored, request, reserved, budget, in_flight)
            .await?
        {
            Ok(waiting) => {
                waiting.start(context).await;
                Ok(())
            }
            Err(refused) => refuse(context, run, stored, &refused, &mut reserved.hold).await,
        };
    }
    let point = match point {
        Ok(point) => point,
        Err(NotResumed::Decided { status, reason }) => {
            return close::close(context, run, stored, status, &reason, &mut reserved.hold).await;
        }
        Err(NotResumed::Refused(refused)) => {
            return refuse(context, run, stored, &refused, &mut reserved.hold).await;
        }
    };
    match prepare::prepare(context, &run, &stored, point, &mut reserved.hold, in_flight).await? {
        Ok(prepared) => {
            prepared.resume(context, reserved.slot.take()).await;
            Ok(())
        }
        Err(refused) if budget.allows_retry(&refused) => Err(StoreError {
            kind: StoreErrorKind::Transient,
            message: refused.to_string(),
        }),
        Err(refused) => refuse(context, run, stored, &refused, &mut reserved.hold).await,
    }
}

/// Repeats the reply of an ended run, if its channel replaces replies. Returns the run's status.
async fn reply_again(context: &RunContext, run: &Reclaimed, stored: &Stored) -> Option<RunStatus> {
    let io = close::reopened(context, run).filter(|io| io.traits().replaces_replies)?;
    io.send(ChannelEvent::Reply(stored.answer()?.to_owned()))
        .await
        .ok()?;
    Some(
        RunState::of_row(&run.row.state)
            .final_status()
            .unwrap_or(RunStatus::Completed),
    )
}

/// The reason for closing a run.
enum NotResumed {
    /// Its stored parts decide it.
    Decided { status: RunStatus, reason: String },
    /// It could be resumed elsewhere.
    Refused(Refused),
}

/// Decides where the run resumes.
/// The conversation is read only for a run that may resume, because a long one takes a while and may be unreadable.
async fn resume_point(
    live: &Live,
    run: &Reclaimed,
    budget: &mut ReadBudget,
) -> Result<Result<ResumePoint, NotResumed>, StoreError> {
    let transcript = if resume::needs_transcript(run) {
        match read::conversation(live, run, budget).await? {
            Ok(transcript) => transcript,
            Err(refused) => return Ok(Err(NotResumed::Refused(refused))),
        }
    } else {
        Transcript::default()
    };
    let size = transcript_size(&transcript);
    Ok(match resume::decide(run, transcript, effects(run)) {
        Decision::Close { status, reason } => Err(NotResumed::Decided {
            status,
            reason: reason.to_string(),
        }),
        Decision::Resume(resume) => Ok(ResumePoint::at_record(resume, size)),
        Decision::RunStep(step) => Ok(ResumePoint::at_step(step, size)),
    })
}

/// Reads the events, unless the store rejects records with them.
async fn events(
    live: &Live,
    run: &Reclaimed,
    budget: &mut ReadBudget,
) -> Result<Result<Vec<Value>, Refused>, StoreError> {
    if budget.is_record_rejected() {
        return Ok(Err(Refused::Record));
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
        // Its sender reads why nothing was run.
        close::note(context, &mut stored, NoteKind::Queued, refused.to_string());
    }
    close::interrupted(context, run, stored, &refused.to_string(), hold).await
}

/// Returns the effects of the tools that the run's agent has in this process.
fn effects(run: &Reclaimed) -> impl Fn(&str) -> Option<Effects> + use<> {
    let agent = Meta::of_row(&run.row.meta)
        .ok()
        .and_then(|meta| agents::find(&meta.agent));
    let tools = agent.map(|agent| Toolbox::new(agent.toolset.tools()));
    move |name: &str| tools.as_ref()?.find(name).map(Tool::effects)
}
