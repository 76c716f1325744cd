//! What becomes of one run that was taken over: it goes on, or is closed (state-worker supplement sections 9.5 and 10.3).
//!
//! Not here: when it is tried again because the stores do not answer (`resume`).

use ars_agent::{
    Effects,
    resume::{self, Decision},
};
use ars_bot_ports::{StoreError, StoreErrorKind};
use ars_bot_tools::agents;
use ars_events::NoteKind;
use ars_types::RunStatus;
use ars_wire::{ledger::Reclaimed, transcript::Transcript};
use serde_json::Value;

use super::{
    Refused, close, go_on,
    read::{self, Patience},
    stored::Stored,
};
use crate::{
    context::RunContext,
    day_spend::Hold,
    in_flight::InFlight,
    live::{Live, Meta, REPLIED, transcript_size},
    run::Toolbox,
};

/// Tries it once. Its hold is left where it is until the run goes on or is closed.
pub(super) async fn take(
    context: &RunContext,
    mut run: Reclaimed,
    hold: &mut Option<Hold>,
    patience: &mut Patience,
    in_flight: InFlight,
) -> Result<(), StoreError> {
    let Some(live) = context.live() else { return Ok(()) };
    if !patience.keeps(live, &live.owner(&run.row.run_id)).await? {
        tracing::warn!(run = %run.row.run_id, "a run left by another process was taken from here too");
        return Ok(());
    }
    let stand = stand(live, &run, patience).await?;
    let (stored, stand) = match events(live, &run, patience).await? {
        Ok(events) => (Stored::of(&run, events), stand),
        Err(refused) => (Stored::without_events(&run), stand.and(Err(Off::Refused(refused)))),
    };
    // One that ended in an outage, without the ledger's leave, is not said to have ended: its answer may be stored all the
    // same, and whoever went on would give another.
    let replied = run.row.state.get(REPLIED).and_then(Value::as_bool);
    if !replied.unwrap_or_else(|| !stored.has_answer()) {
        // Its process died around the reply. Whether the requester has it is not known, so the record does not say so.
        run.row.state.remove(resume::FINAL_STATUS);
        tracing::info!(run = %run.row.run_id, "taken over between its end and its reply");
        let reason = "it had ended; whether it replied is not known";
        return close::interrupted(context, run, stored, reason, hold).await;
    }
    let stand = match stand {
        Ok(stand) => stand,
        Err(Off::Decided { status, reason }) => {
            return close::close(context, run, stored, status, &reason, hold).await;
        }
        Err(Off::Refused(refused)) => return refuse(context, run, stored, &refused, hold).await,
    };
    match go_on::prepare(context, &run, &stored, stand, hold, in_flight).await? {
        Ok(ready) => {
            ready.go_on(context).await;
            Ok(())
        }
        Err(refused) if patience.outlasts(&refused) => {
            Err(StoreError { kind: StoreErrorKind::Transient, message: refused.to_string() })
        }
        Err(refused) => refuse(context, run, stored, &refused, hold).await,
    }
}

/// Why a run does not go on.
enum Off {
    /// What is stored says so.
    Decided { status: RunStatus, reason: String },
    /// It could, but not here.
    Refused(Refused),
}

/// Where it stands. Its conversation is read only where it may go on: a long one takes a while, and may not be to be had.
async fn stand(
    live: &Live,
    run: &Reclaimed,
    patience: &mut Patience,
) -> Result<Result<go_on::Stand, Off>, StoreError> {
    let transcript = if resume::needs_transcript(run) {
        match read::conversation(live, run, patience).await? {
            Ok(transcript) => transcript,
            Err(refused) => return Ok(Err(Off::Refused(refused))),
        }
    } else {
        Transcript::default()
    };
    let size = transcript_size(&transcript);
    Ok(match resume::decide(run, transcript, effects(run)) {
        Decision::Close { status, reason } => Err(Off::Decided { status, reason: reason.to_string() }),
        Decision::Resume(resume) => Ok(go_on::Stand::resumed(resume, size)),
        Decision::RunStep(step) => Ok(go_on::Stand::at_step(step, size)),
    })
}

/// Its events, unless no record is taken that has them.
async fn events(
    live: &Live,
    run: &Reclaimed,
    patience: &mut Patience,
) -> Result<Result<Vec<Value>, Refused>, StoreError> {
    if patience.is_record_refused() {
        return Ok(Err(Refused::Record));
    }
    read::events(live, &run.row.run_id, patience).await
}

/// Closes a run that could go on, and does not here; one that is another process's stays as it is.
async fn refuse(
    context: &RunContext,
    run: Reclaimed,
    mut stored: Stored,
    refused: &Refused,
    hold: &mut Option<Hold>,
) -> Result<(), StoreError> {
    if matches!(refused, Refused::Lost) {
        return Ok(());
    }
    if refused.is_of_tree() {
        close::note(context, &mut stored, NoteKind::SandboxDead, refused.to_string());
    }
    close::interrupted(context, run, stored, &refused.to_string(), hold).await
}

/// The effects of the tools that the run's agent has in this process.
fn effects(run: &Reclaimed) -> impl Fn(&str) -> Option<Effects> + use<> {
    let agent = Meta::of_row(&run.row.meta).ok().and_then(|meta| agents::find(&meta.agent));
    let tools = agent.map(|agent| Toolbox::new(agent.toolset.tools()));
    move |name: &str| tools.as_ref()?.find(name).map(ars_bot_tools::Tool::effects)
}
