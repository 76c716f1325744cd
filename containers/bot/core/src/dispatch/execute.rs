//! From the creation of the run to its record (bot supplement section 12.1, stages 14 to 18).

use std::{panic::AssertUnwindSafe, sync::Arc};

use ars_agent::Role;
use ars_events::EventBody;
use ars_types::RunStatus;
use futures::FutureExt;

use super::{
    Stage,
    plan::Plan,
    prompt::{self, WorkspaceFacts},
};
use crate::{
    history::{self, RunEnd},
    message::IncomingMessage,
    ports::{ChannelIo, HistoryTurn, ModelClient, Workspace},
    registry::{RunFacts, RunHandle},
    run::{Driven, Driver, Span, Spans, Toolbox, thrown},
    service::{Core, InFlight},
    threads::Claim,
};

/// Most characters of a run's label (bot supplement section 11.1).
const LABEL_CAP: usize = 120;

/// A request that may run.
pub(super) struct Prepared {
    pub(super) text: String,
    pub(super) history: Vec<HistoryTurn>,
    pub(super) plan: Plan,
    pub(super) client: Arc<dyn ModelClient>,
    pub(super) claim: Claim,
    pub(super) workspace: Option<Arc<dyn Workspace>>,
    pub(super) facts: Option<WorkspaceFacts>,
    pub(super) stages: Vec<Stage>,
}

/// Creates the run, drives it, tells the requester, and writes its record. The record is written after this
/// returns, still counted as in flight.
pub(super) async fn execute(
    core: &Core,
    message: IncomingMessage,
    prepared: Prepared,
    io: &dyn ChannelIo,
    in_flight: InFlight,
) {
    let run = match core.registry().create(facts(core, &message, &prepared)) {
        Ok(run) => run,
        Err(error) => {
            tracing::error!(error = %error, "no randomness for a run id");
            drop(io.reply("❌ The run could not be started.").await);
            return;
        }
    };
    prepared.claim.set_run(run.id());
    let spans = Spans::default();
    let request = publish_head(core, &run, &spans, &message, &prepared);
    io.run_started(run.id());
    let started_at = run.view().started_at;
    let tombstone = RunEnd { status: RunStatus::Interrupted, finished_at: started_at, steps: None };
    let provisional = core.history().begin(history::record(&run.view(), tombstone));

    let driven = drive(core, &run, &spans, &request, &prepared, io).await;
    if let Some(answer) = &driven.ending.answer {
        run.publish(EventBody::Answer { text: answer.clone() });
    }
    run.finish(driven.ending.status);
    // The thread is free before the reply: whoever reads the reply may answer at once.
    drop(prepared.claim);
    io.run_finished(run.id(), driven.ending.status);
    let reply_ok = reply(core, &run, &spans, &request, &driven, io).await;
    spans.end(&run, request, None, None, core.clock().now());
    run.seal(reply_ok);

    let end = RunEnd {
        status: final_status(driven.ending.status, reply_ok),
        finished_at: run.view().finished.map_or(started_at, |(at, _)| at),
        steps: Some(driven.steps),
    };
    let (core, record) = (core.clone(), history::record(&run.view(), end));
    tokio::spawn(async move {
        core.history().finish(provisional, record).await;
        drop(in_flight);
    });
}

/// A reply that throws after the loop makes the record `failed`; stop statuses are kept (document 2 section 3.2).
fn final_status(status: RunStatus, reply_ok: Option<bool>) -> RunStatus {
    match (status, reply_ok) {
        (RunStatus::Completed, Some(false)) => RunStatus::Failed,
        (status, _) => status,
    }
}

async fn drive(
    core: &Core,
    run: &RunHandle,
    spans: &Spans,
    request: &Span,
    prepared: &Prepared,
    io: &dyn ChannelIo,
) -> Driven {
    let deps = core.deps();
    let plan = &prepared.plan;
    let system = prompt::system(plan.agent, prepared.facts.as_ref());
    let conversation = prompt::conversation(prompt::recent(&prepared.history), &prepared.text);
    let tools = Toolbox::new(plan.agent.toolset.tools());
    let root = spans.start(run, Some(request.id()), "run.agent", core.clock().now());
    let driver = Driver {
        run,
        spans,
        root: &root,
        clock: core.clock(),
        agent: plan.agent,
        budget: deps.settings.budgets.get(plan.agent.name).copied().unwrap_or(plan.agent.budget),
        model: &plan.model,
        client: &*prepared.client,
        effort: plan.effort,
        system: &system,
        tools: &tools,
        workspace: prepared.workspace.clone(),
        io,
        redactor: &deps.redactor,
    };
    // A panic is a bug of ours; the requester still gets an answer and the run its record.
    let driven = AssertUnwindSafe(driver.run(conversation)).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(run = %run.id(), "the run's driver panicked");
        thrown()
    });
    let error = (driven.ending.status == RunStatus::Failed).then(|| "failed".to_owned());
    spans.end(run, root, error, None, core.clock().now());
    driven
}

async fn reply(
    core: &Core,
    run: &RunHandle,
    spans: &Spans,
    request: &Span,
    driven: &Driven,
    io: &dyn ChannelIo,
) -> Option<bool> {
    let answer = driven.ending.answer.as_deref()?;
    let span = spans.start(run, Some(request.id()), "post.reply", core.clock().now());
    let delivered = io.reply(answer).await;
    let error = delivered.as_ref().err().map(|error| {
        tracing::warn!(run = %run.id(), error = %error, "reply not delivered");
        "reply".to_owned()
    });
    spans.end(run, span, error, None, core.clock().now());
    Some(delivered.is_ok())
}

fn facts(core: &Core, message: &IncomingMessage, prepared: &Prepared) -> RunFacts {
    let repo = prepared.facts.as_ref().map(|facts| facts.repository.clone());
    let place = repo.clone().unwrap_or_else(|| format!("{} - {}", message.channel_id, message.actor.id));
    let snippet = prepared.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let label = format!("{} · {place} · “{snippet}”", prepared.plan.agent.name);
    RunFacts {
        label: core.deps().redactor.clean(&label, LABEL_CAP),
        agent: prepared.plan.agent.name.to_owned(),
        model: Some(prepared.plan.model.to_string()),
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
    let plan = &prepared.plan;
    run.publish(EventBody::RunMeta {
        agent: plan.agent.name.to_owned(),
        model: Some(plan.model.to_string()),
        effort: plan.effort.map(|effort| effort.to_string()),
        trace_id: None,
        repo: prepared.facts.as_ref().map(|facts| facts.repository.clone()),
        git_ref: plan.git_ref.as_ref().map(ToString::to_string),
        head_sha: prepared.facts.as_ref().and_then(|facts| facts.head.clone()),
    });
    request
}
