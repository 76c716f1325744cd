//! Taking over what other processes left (document 2 section 3.3, state-worker supplement sections 9.5 and 10.3).
//!
//! At the start and then every lease interval this process asks the ledger for runs that were offered or whose lease
//! has lapsed. Each either goes on here, under its id and with its stream, or is closed with a record that says how far
//! it came. One run's failure holds up no other. Not here: the decision itself (`ars_agent::resume`, pure).

mod close;
mod go_on;
mod spans;

use std::time::Duration;

use ars_agent::{Effects, resume::Decision};
use ars_wire::ledger::Reclaimed;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::{
    agents,
    live::{LEASE, Live, Meta, REPLIED},
    ports::StoreError,
    retry::Policy,
    run::Toolbox,
    service::Core,
};

/// Why a run that could go on does not.
#[derive(Debug, Error)]
pub(crate) enum Refused {
    /// The row is of another kind or version.
    #[error("the run's description cannot be read: {0}")]
    Meta(#[from] serde_json::Error),
    /// The agent is not there any more.
    #[error("the agent is not known here")]
    Agent,
    /// The model's provider is not configured.
    #[error("the model cannot be asked: {0}")]
    Model(String),
    /// The channel cannot be taken up again.
    #[error("its channel cannot be taken up again")]
    Channel,
    /// The thread has a newer run.
    #[error("the thread has a newer run")]
    Thread,
    /// The thread's working tree is not there.
    #[error("the workspace could not be made ready: {0}")]
    Workspace(String),
    /// The step has no loop to go on with.
    #[error("the stored step does not say how the loop stood")]
    NoLoop,
    /// No randomness for the run's token.
    #[error("no randomness")]
    Randomness,
}

/// Takes over again and again until `end` fires or the process drains.
pub(crate) async fn keep_taking_over(core: &Core, end: CancellationToken) {
    let Some(live) = core.live() else { return };
    loop {
        take_over(core, live).await;
        tokio::select! {
            () = end.cancelled() => return,
            () = core.hand_off().cancelled() => return,
            () = tokio::time::sleep(Duration::from_millis(LEASE.into())) => {}
        }
    }
}

/// One pass.
async fn take_over(core: &Core, live: &Live) {
    let in_flight = core.enter();
    let runs = match live.ledger().reclaim(live.generation(), LEASE, None).await {
        Ok(runs) => runs,
        Err(error) => {
            tracing::warn!(error = %error, "nothing taken over: the ledger does not answer");
            return;
        }
    };
    for run in runs {
        let core = core.clone();
        tokio::spawn(async move {
            let in_flight = core.enter();
            let id = run.row.run_id.clone();
            if let Err(error) = take(&core, run, in_flight).await {
                // The row stays; the next process finds it.
                tracing::error!(run = %id, error = %error, "a run taken over was left as it was");
            }
        });
    }
    drop(in_flight);
}

/// One run.
async fn take(
    core: &Core,
    mut run: Reclaimed,
    in_flight: crate::service::InFlight,
) -> Result<(), StoreError> {
    let Some(live) = core.live() else { return Ok(()) };
    let id = run.row.run_id.clone();
    let transcript = Policy::RECORD.run(&id, || live.transcripts().read(&id)).await?;
    let events = Policy::RECORD.run(&id, || live.ledger().live_events(&id)).await?;
    let maybe_replied = run.row.state.get(REPLIED).and_then(serde_json::Value::as_bool) == Some(false);
    if maybe_replied {
        // Its process died around the reply. Whether the requester has it is not known, so the record does not say so.
        run.row.state.remove(ars_agent::resume::FINAL_STATUS);
        tracing::info!(run = %id, "taken over between its end and its reply");
        return close::interrupted(core, run, events, "it had ended; whether it replied is not known").await;
    }
    let decision = ars_agent::resume::decide(&run, transcript, effects(&run));
    let stand = match decision {
        Decision::Close { status, reason } => {
            return close::close(core, run, events, status, &reason.to_string()).await;
        }
        Decision::Resume(resume) => go_on::Stand::from(resume),
        Decision::RunStep(step) => go_on::Stand::from(step),
    };
    match go_on::prepare(core, &run, &events, stand, in_flight).await? {
        Ok(ready) => {
            ready.go_on(core).await;
            Ok(())
        }
        Err(refused) => close::interrupted(core, run, events, &refused.to_string()).await,
    }
}

/// The effects of the tools that the run's agent has in this process.
fn effects(run: &Reclaimed) -> impl Fn(&str) -> Option<Effects> + use<> {
    let agent = Meta::of_row(&run.row.meta).ok().and_then(|meta| agents::find(&meta.agent));
    let tools = agent.map(|agent| Toolbox::new(agent.toolset.tools()));
    move |name: &str| tools.as_ref()?.find(name).map(crate::tools::Tool::effects)
}
