//! From the claim in the ledger to the end of the loop (bot supplement section 12.1, stages 14 and 15).
//!
//! What follows is `conclude`, which a resumed run shares.

use std::{panic::AssertUnwindSafe, sync::Arc};

use ars_agent::Role;
use ars_bot_ports::{ChannelIo, IncomingMessage, metrics};
use ars_events::EventBody;
use ars_types::{RunId, RunStatus};
use ars_wire::{Moment, ledger::NewRun};
use futures::FutureExt as _;

use super::{Asked, Prepared, Stage, ground, prompt};
use crate::{
    conclude::{Beginning, Conclusion},
    context::RunContext,
    history::{self, RunEnd},
    in_flight::InFlight,
    live::{Claimed, LEASE, Live, Meta},
    registry::{RunFacts, RunHandle},
    run::{self, Assignment, Span, Spans},
};

/// Most characters of a run's label (bot supplement section 11.1).
const LABEL_CAP: usize = 120;

/// Claims the run, creates it, drives it, and concludes it. Hands the request back when another process holds the
/// thread.
pub(super) async fn execute(
    context: &RunContext,
    message: IncomingMessage,
    mut prepared: Prepared,
    io: Arc<dyn ChannelIo>,
    in_flight: InFlight,
) -> Result<(), Box<super::Elsewhere>> {
    let id = context.registry().mint();
    if let Some(hold) = &mut prepared.assignment.hold {
        hold.be_for(&id);
    }
    let facts = facts(context, &message, &prepared.asked, &prepared.assignment);
    let mut is_tracked = false;
    if let Some(live) = context.live() {
        let run = new_run(context, live, &id, &facts, &prepared);
        let began = context.clock().now();
        let claimed = live.claim(&run).await;
        let ended_at = context.clock().now();
        prepared.asked.stages.push(Stage { name: "dispatch.ledger_claim", started_at: began, ended_at });
        match claimed {
            Claimed::Granted => is_tracked = true,
            Claimed::Untracked => {}
            // A run of this process that is over but whose end the ledger has not taken in: nobody reads its inbox.
            Claimed::ThreadLive(holder) if context.registry().get(&holder.run_id).is_some() => {}
            Claimed::ThreadLive(holder) => {
                return Err(Box::new(super::Elsewhere { message, prepared, io, in_flight, holder }));
            }
        }
    }
    let Prepared { asked, claim, mut assignment } = prepared;
    let run = match context.registry().create(id, facts) {
        Ok(run) => run,
        Err(error) => {
            tracing::error!(error = %error, "no randomness for a run id");
            super::release(context, claim);
            drop(io.reply("❌ The run could not be started.").await);
            return Ok(());
        }
    };
    claim.set_run(run.id());
    let spans = Spans::default();
    let request = publish_head(context, &run, &spans, &message, &asked);
    let (tracked, listening) = match context.live() {
        Some(live) if is_tracked => (Some(live.track(&run, claim.mailbox(), 0)), None),
        Some(live) => (None, Some(live.listen(&run, claim.mailbox()))),
        None => (None, None),
    };
    metrics::run_started(assignment.agent.name);
    io.run_started(run.id());
    let started_at = run.view().started_at;
    let tombstone =
        RunEnd { status: RunStatus::Interrupted, finished_at: started_at, steps: None, cost: None };
    let provisional = context.history().begin(history::record(&run.view(), tombstone));

    let conclusion =
        Conclusion { run, spans, request, claim, tracked, listening, provisional, io, in_flight };
    let conversation = prompt::conversation(prompt::recent(&asked.history), &asked.directed.text);
    let prior_turns = conversation.len().saturating_sub(1);
    let equipped = ground::equip(context, &message, &asked, &conclusion, &mut assignment, prior_turns);
    let (driven, remembering) = match AssertUnwindSafe(equipped).catch_unwind().await {
        Ok(Ok(remembering)) => {
            (conclusion.drive(context, &assignment, Beginning::Start(conversation)).await, remembering)
        }
        // Its stop ended the clone: it ends as any stopped run does.
        Ok(Err(_)) if conclusion.run.stops().hard.is_cancelled() => {
            (conclusion.drive(context, &assignment, Beginning::Start(conversation)).await, None)
        }
        Ok(Err(refusal)) => (run::not_begun(refusal), None),
        Err(_panic) => {
            tracing::error!(run = %conclusion.run.id(), "equipping the run panicked");
            (run::not_begun(run::INTERNAL_ERROR.to_owned()), None)
        }
    };
    conclusion.conclude(context, assignment, remembering, driven).await;
    Ok(())
}

fn new_run(context: &RunContext, live: &Live, id: &RunId, facts: &RunFacts, prepared: &Prepared) -> NewRun {
    let Assignment { agent, model, effort, tools, hold, .. } = &prepared.assignment;
    let meta = Meta {
        agent: agent.name.to_owned(),
        model: model.name.clone(),
        effort: *effort,
        channel_id: facts.channel_id.clone(),
        user_id: facts.user_id.clone(),
        thread_key: facts.thread_key.as_str().to_owned(),
        channel_visibility: facts.visibility,
        repo: facts.repo.clone(),
        git_ref: prepared.asked.git_ref.as_ref().map(ToString::to_string),
        label: facts.label.clone(),
        received_at: facts.received_at,
        hold: hold.as_ref().map(|hold| hold.cap().run_microusd),
    };
    NewRun {
        run_id: id.clone(),
        thread_key: facts.thread_key.as_str().to_owned(),
        generation: live.generation().clone(),
        lease_ms: LEASE,
        started_at: Moment::from(context.clock().now()),
        meta: meta.to_row(),
        card: None,
        // Not known before the tree is: it follows in the state, before the step that makes the run resumable.
        system: String::new(),
        tools: tools.specs().iter().filter_map(|spec| serde_json::to_value(spec).ok()).collect(),
        state: None,
    }
}

fn facts(
    context: &RunContext,
    message: &IncomingMessage,
    asked: &Asked,
    assignment: &Assignment,
) -> RunFacts {
    let agent = assignment.agent.name;
    let repo = asked.repository().filter(|_| assignment.agent.needs_repository).map(str::to_owned);
    let place = repo.clone().unwrap_or_else(|| format!("{} - {}", message.channel_id, message.actor.id));
    let snippet = asked.directed.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let label = format!("{agent} · {place} · “{snippet}”");
    RunFacts {
        label: context.deps().redactor.clean(&label, LABEL_CAP),
        agent: agent.to_owned(),
        model: Some(assignment.model.name.to_string()),
        channel_id: message.channel_id.clone(),
        user_id: message.actor.id.clone(),
        thread_key: message.thread_key.clone(),
        visibility: message.visibility,
        repo,
        received_at: message.received_at,
    }
}

/// The first events of a run: the request's span, the stages before the run, input, and context. What it runs with
/// follows once its tree is there (`ground`).
fn publish_head(
    context: &RunContext,
    run: &RunHandle,
    spans: &Spans,
    message: &IncomingMessage,
    asked: &Asked,
) -> Span {
    let request = spans.start(run, None, "request", message.received_at);
    for Stage { name, started_at, ended_at } in &asked.stages {
        let span = spans.start(run, Some(request.id()), *name, *started_at);
        spans.end(run, span, None, None, *ended_at);
    }
    run.publish(EventBody::Input { text: asked.directed.text.clone(), source: message.source.clone() });
    if context.settings().include_context {
        for turn in prompt::recent(&asked.history) {
            let speaker = match turn.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            run.publish(EventBody::Context { text: format!("{speaker}: {}", turn.text) });
        }
    }
    request
}
