//! `dispatch(deps, msg, io)`: the stages of a request, in the order of bot supplement section 12.1.
//!
//! A refusal before the run is created is one reply and no run. From the creation on, whatever happens ends in a
//! finished run, a reply attempt and a record: a tree that cannot be made ready too, because the run is claimed, and
//! its requester told of it, before the tree is touched.

mod admission;
mod code_spans;
pub mod directives;
mod enter;
mod execute;
mod ground;
mod origin;
mod plan;
mod prompt;

use std::sync::Arc;

use ars_agent::Role;
use ars_auth::Actor;
use ars_bot_ports::{ChannelIo, HistoryTurn, IncomingMessage, Repository, WorkspaceError};
use ars_types::{RefName, UnixMillis};
use ars_wire::ledger::Holder;

pub(crate) use self::origin::is_same as is_same_place;
use self::{
    admission::Applicant,
    directives::Directed,
    enter::{Admission, Outcome, enter},
    plan::{Scopes, Wish},
};
use crate::{
    context::{RequeueReceiver, Requeued, RunContext},
    day_spend::Hold,
    in_flight::InFlight,
    leftovers::{self, Leftovers},
    overrides::Overrides,
    run::{Assignment, Voice},
    settings::MoneyCaps,
    threads::{Claim, Closed},
};

/// How often a request is begun again because the run that held its thread elsewhere ended meanwhile.
const BEGINNINGS: usize = 3;

/// Said of a message without a request in it.
const NO_REQUEST: &str = "⚠️ What should it do? The message says how to run, but asks for nothing.";

/// Said of a message that comes while the process drains.
const DRAINING: &str =
    "⏳ The service is being restarted. Nothing of this was begun: send it again in a moment.";

/// A stage that took place before the run was created, for its spans.
struct Stage {
    name: &'static str,
    started_at: UnixMillis,
    ended_at: UnixMillis,
}

/// A request that may run. Its tree and its prompt come once the run is begun (`ground`).
struct Prepared {
    asked: Asked,
    claim: Claim,
    assignment: Assignment,
}

/// What was asked, by whom, and where.
struct Asked {
    directed: Directed,
    history: Vec<HistoryTurn>,
    /// The agent it names itself.
    names: Option<String>,
    actor: Actor,
    scopes: Scopes,
    /// The repository that the request or the configuration names.
    named: Option<Repository>,
    /// The thread's own.
    own: Option<Repository>,
    git_ref: Option<RefName>,
    stages: Vec<Stage>,
}

impl Asked {
    /// The repository it is about, whether its agent works on one or not.
    fn repository(&self) -> Option<&str> {
        self.named.as_ref().or(self.own.as_ref()).map(|repository| repository.name.as_str())
    }
}

/// What preparing a request came to.
enum Ready {
    /// It runs.
    Run(Box<Prepared>),
    /// It went to a live run; this is said to its sender.
    Steered(String),
}

/// A request whose thread another process holds, handed back as it came.
struct Elsewhere {
    message: IncomingMessage,
    prepared: Prepared,
    io: Arc<dyn ChannelIo>,
    in_flight: InFlight,
    holder: Holder,
}

/// A request that is refused.
struct Refused {
    message: IncomingMessage,
    io: Arc<dyn ChannelIo>,
    /// What its sender is told.
    words: String,
    /// Until that is said.
    in_flight: InFlight,
}

/// Serves one request to its end. While the process drains it is turned away before anything is asked of it, a message for
/// a live run too: that run is at its end here, and what it does not read would be a run of its own.
pub async fn dispatch(context: &RunContext, message: IncomingMessage, io: Arc<dyn ChannelIo>) {
    let Some(in_flight) = context.in_flight().try_enter() else {
        io.turned_away();
        return say(&*io, DRAINING).await;
    };
    let Err(refused) = serve(context, message, io, in_flight).await else { return };
    say(&*refused.io, &refused.words).await;
    drop(refused.in_flight);
}

/// Dispatches every unread follow-up that is queued. Ends when the last context is dropped.
pub(crate) async fn serve_requeued(mut queue: RequeueReceiver) {
    while let Some(requeued) = queue.recv().await {
        // Spawned, because a dispatch lasts as long as its run.
        tokio::spawn(dispatch_requeued(requeued));
    }
}

/// Serves what a run left unread, in a drain too. Its sender was told that it is passed on, and may hear of it on that run's
/// channel: a refusal says what is not run.
async fn dispatch_requeued(requeued: Requeued) {
    let Requeued { context, message, io, in_flight } = requeued;
    let Err(refused) = serve(&context, message, io, in_flight).await else { return };
    say(&*refused.io, &leftovers::refused(&refused.words, &refused.message.text)).await;
    drop(refused.in_flight);
}

async fn serve(
    context: &RunContext,
    mut message: IncomingMessage,
    mut io: Arc<dyn ChannelIo>,
    mut in_flight: InFlight,
) -> Result<(), Box<Refused>> {
    for _ in 0..BEGINNINGS {
        let prepared = match prepare(context, &message, &io).await {
            Ok(Ready::Run(prepared)) => *prepared,
            Ok(Ready::Steered(ack)) => {
                say(&*io, &ack).await;
                return Ok(());
            }
            Err(words) => return refuse(message, io, words, in_flight),
        };
        let Err(elsewhere) = execute::execute(context, message, prepared, io, in_flight).await else {
            return Ok(());
        };
        let Elsewhere { message: back, prepared, io: back_io, in_flight: guard, holder } = *elsewhere;
        let Prepared { asked, claim, .. } = prepared;
        release(context, claim);
        let applicant = Applicant {
            message: &back,
            io: &back_io,
            actor: &asked.actor,
            names: asked.names.as_deref(),
            directed: &asked.directed,
        };
        match applicant.steer_elsewhere(context, &holder).await {
            Some(Ok(ack)) => {
                say(&*back_io, &ack).await;
                return Ok(());
            }
            Some(Err(words)) => return refuse(back, back_io, words, guard),
            // It ended between the claim and the message: the thread may be free now.
            None => (message, io, in_flight) = (back, back_io, guard),
        }
    }
    let words = "⏳ This thread is busy in another process. Ask again in a moment.".to_owned();
    refuse(message, io, words, in_flight)
}

async fn say(io: &dyn ChannelIo, text: &str) {
    if let Err(error) = io.reply(text).await {
        tracing::warn!(error = %error, "reply not delivered");
    }
}

fn refuse(
    message: IncomingMessage,
    io: Arc<dyn ChannelIo>,
    words: String,
    in_flight: InFlight,
) -> Result<(), Box<Refused>> {
    tracing::info!(actor = %message.actor.id, channel = %message.channel_id, "request refused");
    Err(Box::new(Refused { message, io, words, in_flight }))
}

/// Everything up to the creation of the run. An `Err` is what the requester is told.
async fn prepare(
    context: &RunContext,
    message: &IncomingMessage,
    io: &Arc<dyn ChannelIo>,
) -> Result<Ready, String> {
    let deps = context.deps();
    let mut stages = Vec::new();

    let began = context.clock().now();
    let history = io.history().await;
    stages.push(Stage { name: "dispatch.history", started_at: began, ended_at: context.clock().now() });

    let directed = directives::read(&message.text).map_err(|refused| format!("⚠️ Sorry, {refused}"))?;
    if directed.text.trim().is_empty() {
        return Err(NO_REQUEST.to_owned());
    }
    let earlier = directives::sticky(user_texts(&history));
    let own_choices = plan::merge(message.choices.clone(), directed.choices.clone());
    let names = own_choices.agent.clone();
    let chosen = plan::merge(own_choices, earlier);

    let actor = with_configured_grants(&message.actor, context);
    let overrides = deps.capabilities.overrides.as_ref().map(Overrides::current).unwrap_or_default();
    let scopes = Scopes::of(&deps.settings, &overrides, &actor.id, &message.channel_id);
    let wish = Wish { choices: &chosen, scopes: &scopes, actor: &actor, settings: &deps.settings };
    let agent = wish.agent().map_err(|refused| sorry(&refused))?;

    let applicant = Applicant { message, io, actor: &actor, names: names.as_deref(), directed: &directed };
    let began = context.clock().now();
    let Outcome { claim, plan, client, own } = match enter(context, &applicant, &wish, agent).await? {
        Admission::Claimed(outcome) => *outcome,
        Admission::Steered(ack) => return Ok(Ready::Steered(ack)),
    };
    stages.push(Stage { name: "dispatch.admission", started_at: began, ended_at: context.clock().now() });

    let hold = match hold_of_day(context).await {
        Ok(hold) => hold,
        Err(refusal) => {
            release(context, claim);
            return Err(refusal);
        }
    };
    let mut assignment = Assignment::of(deps, agent, Voice { name: plan.model, client }, plan.effort);
    assignment.hold_to(hold);
    let (named, git_ref) = (plan.repository, chosen.git_ref);
    let asked = Asked { directed, history, names, actor, scopes, named, own, git_ref, stages };
    Ok(Ready::Run(Box::new(Prepared { asked, claim, assignment })))
}

fn sorry(refused: &str) -> String {
    format!("⛔ Sorry, {refused}")
}

/// Gives up a thread whose run is not to be: what was passed on to it meanwhile becomes a request of its own.
fn release(context: &RunContext, claim: Claim) {
    let (agent, unread) = (claim.agent(), claim.mailbox().close(Closed::Ended).into_iter());
    drop(claim);
    Leftovers::of_senders(agent, unread.filter_map(|follow_up| follow_up.sender)).run(context);
}

/// What the run may spend of the day's money; nothing when it is not capped.
async fn hold_of_day(context: &RunContext) -> Result<Option<Hold>, String> {
    let MoneyCaps { run, day } = context.settings().money;
    let Some(day) = day else { return Ok(None) };
    context.day_spend().reserve(day, run, &context.books(), context.clock().now()).await.map(Some)
}

fn user_texts(history: &[HistoryTurn]) -> impl Iterator<Item = &str> {
    history.iter().filter(|turn| turn.role == Role::User).map(|turn| turn.text.as_str())
}

fn with_configured_grants(actor: &Actor, context: &RunContext) -> Actor {
    ars_auth::grants::granted(actor, &context.settings().grants)
}

fn not_ready(error: &WorkspaceError) -> String {
    tracing::warn!(error = %error, "workspace not ready");
    format!("❌ The workspace could not be made ready: {error}")
}
