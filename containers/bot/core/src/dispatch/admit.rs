//! Stage 4, admit (docs/reference/ingress.md#admission).
//!
//! The message becomes a follow-up for the thread's live run, or claims the thread for a new run.
//! Not here: the permission to steer and its delivery (`steer`), and planning a new run (`request`).

use ars_bot_ports::{IncomingMessage, Notice, Overload, Refusal};
use ars_types::{RefName, ThreadKey};
use ars_wire::idempotency::FirstUse;
use serde_json::Value;

use super::{amend, authorize::AuthorizedRequest, steer::Steering};
use crate::{
    context::RunContext,
    limits::RunSlot,
    live::QueuedRequest,
    request::{AdmittedRequest, ParsedRequest, Request, RunPlan, Stage, plan_run, recent},
    threads::ThreadWork,
};

/// How a request was admitted.
pub(super) enum Admission {
    /// The request owns its thread.
    Claimed(Box<AdmittedRequest>),
    /// The message is a live run's follow-up.
    Steered(Notice),
    /// The message started a run before.
    Repeated(FirstUse),
}

/// Steers the thread's live run, or claims the thread.
///
/// Only a message that gets its own run needs a model and a repository, and the thread is claimed
/// after both are resolved, so that a refusal never occupies it.
pub(super) async fn admit(
    context: &RunContext,
    authorized: &AuthorizedRequest<'_>,
    steering: &Steering<'_>,
) -> Result<Admission, Refusal> {
    let thread = &authorized.request.message.thread_key;
    let started_at = context.clock().now();
    let (claim, (slot, queued), plan) = loop {
        if let Some(first) = begun_before(context, &authorized.request.message).await {
            return Ok(Admission::Repeated(first));
        }
        if let Some(notice) = steering.steer_local(context).await? {
            return Ok(Admission::Steered(notice));
        }
        let plan = match plan_run(context, thread, authorized.parsed, &authorized.resolved).await {
            Ok(plan) => plan,
            Err(refusal) => {
                // Without a plan the ledger's claim is never attempted, which would report the owner.
                let steered = steering.steer_any_remote(context).await?;
                return steered.map(Admission::Steered).ok_or(refusal);
            }
        };
        let slot = match slot(context, authorized) {
            Ok(slot) => slot,
            Err(overload) if is_occupied_elsewhere(context, thread).await => {
                let steered = steering.steer_any_remote(context).await?;
                return steered.map(Admission::Steered).ok_or(overload.into());
            }
            Err(overload) => return Err(overload.into()),
        };
        let work = work(authorized, &plan);
        // `None` when another message claimed the thread concurrently, which is then steered.
        if let Ok(claim) = context.threads().claim(thread, work, context.clock().now()) {
            break (claim, slot, plan);
        }
    };
    let IncomingMessage {
        idempotency: key,
        actor,
        ..
    } = &authorized.request.message;
    claim.mailbox().await_request(key.as_ref(), &actor.id);
    amend::catch_up(context, key.as_ref()).await;
    let ended_at = context.clock().now();
    let mut stages = authorized.parsed.stages.clone();
    stages.push(Stage {
        name: "dispatch.admission",
        started_at,
        ended_at,
    });
    Ok(Admission::Claimed(Box::new(AdmittedRequest {
        claim,
        slot,
        queued,
        plan,
        stages,
    })))
}

/// Returns the use of the message's key by a run, if the thread is occupied: a message that is
/// delivered again must not steer its own run. On a free thread the claim finds it.
async fn begun_before(context: &RunContext, message: &IncomingMessage) -> Option<FirstUse> {
    let key = message.idempotency.as_ref()?;
    context.threads().occupant(&message.thread_key)?;
    // Without an answer the message is a follow-up.
    context.live()?.first_use(key).await.ok()?
}

/// Takes a slot, or a place in the queue for a request that may wait.
fn slot(
    context: &RunContext,
    authorized: &AuthorizedRequest<'_>,
) -> Result<(RunSlot, Option<Value>), Overload> {
    let Request {
        message, may_wait, ..
    } = authorized.request;
    let caller = context.settings().caller(&message.actor.id);
    let overload = match context.slots().take(&caller) {
        Ok(slot) => return Ok((RunSlot::Free(slot), None)),
        Err(overload) => overload,
    };
    let ParsedRequest {
        history, choices, ..
    } = authorized.parsed;
    let queued = if *may_wait {
        QueuedRequest::stored(message, recent(history), choices)
    } else {
        None
    };
    let Some(queued) = queued else {
        return Err(overload);
    };
    let slot = context.slots().take_or_wait(&caller, message.received_at)?;
    Ok((slot, Some(queued)))
}

/// Returns whether another process has a live run on the thread, from a listing that many messages
/// share.
async fn is_occupied_elsewhere(context: &RunContext, thread: &ThreadKey) -> bool {
    let Some(live) = context.live() else {
        return false;
    };
    let listing = live.rows(context.clock()).await;
    listing.rows().iter().any(|row| {
        row.facts
            .as_ref()
            .is_some_and(|facts| facts.thread_key == *thread)
    })
}

/// Returns the facts that the thread's later messages are checked against.
fn work<'a>(authorized: &'a AuthorizedRequest<'_>, plan: &'a RunPlan) -> ThreadWork<'a> {
    let agent = authorized.resolved.agent;
    ThreadWork {
        agent: agent.name,
        repository: plan.repository().filter(|_| agent.needs_repository),
        git_ref: authorized
            .parsed
            .choices
            .git_ref
            .as_ref()
            .map(RefName::as_str),
    }
}
