//! From the claim in the ledger to the end of the loop (bot supplement section 12.1, stages 14 and 15).
//!
//! What follows is `conclude`, which a resumed run shares.

use std::sync::Arc;

use ars_agent::Role;
use ars_events::EventBody;
use ars_types::{RunId, RunStatus};
use ars_wire::{Moment, ledger::NewRun};

use super::{Prepared, Stage, prompt};
use crate::{
    conclude::{Conclusion, From},
    history::{self, RunEnd},
    live::{Claimed, LEASE, Live, Meta},
    message::IncomingMessage,
    metrics,
    ports::ChannelIo,
    registry::{RunFacts, RunHandle},
    run::{Assignment, Span, Spans},
    service::{Core, InFlight},
    trace,
};

/// Most characters of a run's label (bot supplement section 11.1).
const LABEL_CAP: usize = 120;

/// Claims the run, creates it, drives it, and concludes it. Hands the request back when another process holds the
/// thread.
pub(super) async fn execute(
    core: &Core,
    message: IncomingMessage,
    prepared: Prepared,
    io: Arc<dyn ChannelIo>,
    in_flight: InFlight,
) -> Result<(), Box<super::Elsewhere>> {
    let id = core.registry().mint();
    let facts = facts(core, &message, &prepared);
    let mut is_tracked = false;
    if let Some(live) = core.live() {
        let run = new_run(core, live, &id, &facts, &prepared);
        match live.claim(&run).await {
            Claimed::Granted => is_tracked = true,
            Claimed::Untracked => {}
            // A run of this process that is over but whose end the ledger has not taken in: nobody reads its inbox.
            Claimed::ThreadLive(holder) if core.registry().get(&holder.run_id).is_some() => {}
            Claimed::ThreadLive(holder) => {
                return Err(Box::new(super::Elsewhere { message, prepared, io, in_flight, holder }));
            }
        }
    }
    let run = match core.registry().create(id, facts) {
        Ok(run) => run,
        Err(error) => {
            tracing::error!(error = %error, "no randomness for a run id");
            drop(io.reply("❌ The run could not be started.").await);
            return Ok(());
        }
    };
    prepared.claim.set_run(run.id());
    let tracked =
        core.live().filter(|_| is_tracked).map(|live| live.track(&run, prepared.claim.mailbox(), 0));
    let spans = Spans::default();
    let request = publish_head(core, &run, &spans, &message, &prepared);
    metrics::run_started(prepared.assignment.agent.name);
    io.run_started(run.id());
    let started_at = run.view().started_at;
    let tombstone =
        RunEnd { status: RunStatus::Interrupted, finished_at: started_at, steps: None, cost: None };
    let provisional = core.history().begin(history::record(&run.view(), tombstone));

    let Prepared { claim, assignment, conversation, remembering, .. } = prepared;
    let conclusion = Conclusion { run, spans, request, claim, tracked, provisional, io, in_flight };
    let driven = conclusion.drive(core, &assignment, From::Start(conversation)).await;
    conclusion.conclude(core, assignment, remembering, driven).await;
    Ok(())
}

fn new_run(core: &Core, live: &Live, id: &RunId, facts: &RunFacts, prepared: &Prepared) -> NewRun {
    let Assignment { agent, model, effort, system, tools, .. } = &prepared.assignment;
    let meta = Meta {
        agent: agent.name.to_owned(),
        model: model.name.clone(),
        effort: *effort,
        channel_id: facts.channel_id.clone(),
        user_id: facts.user_id.clone(),
        thread_key: facts.thread_key.as_str().to_owned(),
        channel_visibility: facts.visibility,
        repo: facts.repo.clone(),
        git_ref: prepared.git_ref.as_ref().map(ToString::to_string),
        head_sha: prepared.facts.as_ref().and_then(|facts| facts.head.clone()),
        label: facts.label.clone(),
        received_at: facts.received_at,
    };
    NewRun {
        run_id: id.clone(),
        thread_key: facts.thread_key.as_str().to_owned(),
        generation: live.generation().clone(),
        lease_ms: LEASE,
        started_at: Moment::from(core.clock().now()),
        meta: meta.to_row(),
        card: None,
        system: system.clone(),
        tools: tools.specs().iter().filter_map(|spec| serde_json::to_value(spec).ok()).collect(),
        state: None,
    }
}

fn facts(core: &Core, message: &IncomingMessage, prepared: &Prepared) -> RunFacts {
    let repo = prepared.facts.as_ref().map(|facts| facts.repository.clone());
    let place = repo.clone().unwrap_or_else(|| format!("{} - {}", message.channel_id, message.actor.id));
    let snippet = prepared.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let agent = prepared.assignment.agent.name;
    let label = format!("{agent} · {place} · “{snippet}”");
    RunFacts {
        label: core.deps().redactor.clean(&label, LABEL_CAP),
        agent: agent.to_owned(),
        model: Some(prepared.assignment.model.name.to_string()),
        channel_id: message.channel_id.clone(),
        user_id: message.actor.id.clone(),
        thread_key: message.thread_key.clone(),
        visibility: message.visibility,
        repo,
        received_at: message.received_at,
    }
}

/// The first events of a run: the request's span, the stages before the run, input, context, and what it runs with.
fn publish_head(
    core: &Core,
    run: &RunHandle,
    spans: &Spans,
    message: &IncomingMessage,
    prepared: &Prepared,
) -> Span {
    let request = spans.start(run, None, "request", message.received_at);
    for Stage { name, started_at, ended_at } in &prepared.stages {
        let span = spans.start(run, Some(request.id()), *name, *started_at);
        spans.end(run, span, None, None, *ended_at);
    }
    run.publish(EventBody::Input { text: prepared.text.clone(), source: message.source.clone() });
    if core.settings().include_context {
        for turn in prompt::recent(&prepared.history) {
            let speaker = match turn.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            run.publish(EventBody::Context { text: format!("{speaker}: {}", turn.text) });
        }
    }
    let assignment = &prepared.assignment;
    run.publish(EventBody::RunMeta {
        agent: assignment.agent.name.to_owned(),
        model: Some(assignment.model.name.to_string()),
        effort: assignment.effort.map(|effort| effort.to_string()),
        trace_id: Some(trace::trace_id(run.id())),
        repo: prepared.facts.as_ref().map(|facts| facts.repository.clone()),
        git_ref: prepared.git_ref.as_ref().map(ToString::to_string),
        head_sha: prepared.facts.as_ref().and_then(|facts| facts.head.clone()),
    });
    request
}
