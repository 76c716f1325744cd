//! Stage 5, start: reserves the day's spend and claims the run in the ledger.
//!
//! A thread that another process owns there is not claimed. Not here: the claimed run's life
//! (`lifecycle`).

use ars_bot_ports::{IncomingMessage, Refusal};
use ars_types::RunId;
use ars_wire::{
    Moment,
    idempotency::FirstUse,
    ledger::{Holder, NewRun},
};

use super::authorize::AuthorizedRequest;
use crate::{
    context::{RunContext, settings::MoneyCaps},
    day_spend::Hold,
    gates::code_host_of,
    lifecycle::release,
    live::{Claimed, LEASE, Live, Meta},
    registry::RunFacts,
    request::{AdmittedRequest, ClaimedRun, ResolvedRequest, Stage},
    run::{Assignment, BoundModel},
};

/// Maximum run label length in characters.
const LABEL_CAP: usize = 120;

/// How a run's start ended.
pub(super) enum Start {
    /// The run is claimed.
    Claimed(Box<ClaimedRun>),
    /// Another process's run owns the thread.
    Owned(Holder),
    /// An earlier request had the idempotency key.
    Repeated(FirstUse),
}

/// Reserves the day's spend and claims the run in the ledger.
pub(super) async fn start(
    context: &RunContext,
    authorized: &AuthorizedRequest<'_>,
    mut admitted: AdmittedRequest,
) -> Result<Start, Refusal> {
    let hold = match reserve_spend(context).await {
        Ok(hold) => hold,
        Err(refusal) => {
            release(context, admitted.claim);
            return Err(refusal);
        }
    };
    let ResolvedRequest { agent, .. } = authorized.resolved;
    let model = BoundModel {
        name: admitted.plan.choice.model.clone(),
        client: admitted.plan.client.clone(),
    };
    let thread = authorized.request.message.thread_key.as_str();
    let code_host = code_host_of(context.deps(), &authorized.resolved.actor, thread);
    let mut assignment = Assignment::new(
        context.deps(),
        agent,
        model,
        admitted.plan.choice.effort,
        code_host,
    );
    assignment.limit_to(hold);

    let id = context.registry().mint();
    if let Some(hold) = &mut assignment.hold {
        hold.assign(&id);
    }
    let facts = facts(context, authorized, &admitted, &assignment);
    let mut is_tracked = false;
    if let Some(live) = context.live() {
        let run = new_run(context, live, &id, &facts, authorized, &assignment);
        let started_at = context.clock().now();
        let claimed = live.claim(&run).await;
        let ended_at = context.clock().now();
        admitted.stages.push(Stage {
            name: "dispatch.ledger_claim",
            started_at,
            ended_at,
        });
        match claimed {
            Claimed::Granted => is_tracked = true,
            Claimed::Unconfirmed => {}
            // Without a row, another process could work on the thread too.
            Claimed::Rejected => {
                release(context, admitted.claim);
                return Err(Refusal::NotRecordable);
            }
            // This process's run that ended, with the final record still pending. It no longer
            // reads the inbox.
            Claimed::ThreadLive(holder) if context.registry().get(&holder.run_id).is_some() => {}
            Claimed::Repeated(first) => {
                release(context, admitted.claim);
                return Ok(Start::Repeated(first));
            }
            Claimed::ThreadLive(holder) => {
                // Dropping it returns the reservation, before the owner is steered.
                drop(assignment);
                release(context, admitted.claim);
                return Ok(Start::Owned(holder));
            }
        }
    }
    Ok(Start::Claimed(Box::new(ClaimedRun {
        id,
        facts,
        admitted,
        assignment,
        is_tracked,
    })))
}

/// Reserves a run's part of the day's spend. Returns `None` without a cap.
async fn reserve_spend(context: &RunContext) -> Result<Option<Hold>, Refusal> {
    let MoneyCaps { run, day } = context.settings().money;
    let Some(day) = day else { return Ok(None) };
    context
        .day_spend()
        .reserve(day, run, &context.spend_sources(), context.clock().now())
        .await
        .map(Some)
}

fn new_run(
    context: &RunContext,
    live: &Live,
    id: &RunId,
    facts: &RunFacts,
    authorized: &AuthorizedRequest<'_>,
    assignment: &Assignment,
) -> NewRun {
    let Assignment {
        agent,
        model,
        effort,
        tools,
        hold,
        ..
    } = assignment;
    let meta = Meta {
        agent: agent.name.to_owned(),
        model: model.name.clone(),
        effort: *effort,
        channel_id: facts.channel_id.clone(),
        user_id: facts.user_id.clone(),
        thread_key: facts.thread_key.as_str().to_owned(),
        channel_visibility: facts.visibility,
        repo: facts.repo.clone(),
        git_ref: authorized
            .parsed
            .choices
            .git_ref
            .as_ref()
            .map(ToString::to_string),
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
        // Known once the working tree is open. It follows in the state, before the step that makes the run resumable.
        system: String::new(),
        tools: tools
            .specs()
            .iter()
            .filter_map(|spec| serde_json::to_value(spec).ok())
            .collect(),
        state: None,
        idempotency: authorized.request.message.idempotency.clone(),
    }
}

fn facts(
    context: &RunContext,
    authorized: &AuthorizedRequest<'_>,
    admitted: &AdmittedRequest,
    assignment: &Assignment,
) -> RunFacts {
    let message = &authorized.request.message;
    let agent = assignment.agent.name;
    let repo = admitted
        .plan
        .repository()
        .filter(|_| assignment.agent.needs_repository)
        .map(str::to_owned);
    let text = &authorized.parsed.directives.text;
    RunFacts {
        label: label(context, agent, repo.as_deref(), message, text),
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

/// Returns a run label: agent, place and text.
pub(super) fn label(
    context: &RunContext,
    agent: &str,
    repo: Option<&str>,
    message: &IncomingMessage,
    text: &str,
) -> String {
    let requester = || format!("{} - {}", message.channel_id, message.actor.id);
    let place = repo.map_or_else(requester, str::to_owned);
    let snippet = text.split_whitespace().collect::<Vec<_>>().join(" ");
    context
        .deps()
        .redactor
        .clean(&format!("{agent} · {place} · “{snippet}”"), LABEL_CAP)
}
