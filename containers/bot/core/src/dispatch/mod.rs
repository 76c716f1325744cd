//! `dispatch(deps, msg, io)`: the stages of a request, in the order of bot supplement section 12.1.
//!
//! A refusal before the run is created is one reply and no run. From the creation on, whatever happens ends in a
//! finished run, a reply attempt and a record.

mod admission;
pub mod directives;
mod execute;
mod plan;
mod prompt;

use std::sync::Arc;

use ars_agent::{Role, Turn, money::MoneyCap};
use ars_auth::Actor;
use ars_settings::instructions_block;
use ars_types::{RefName, UnixMillis};
use ars_wire::ledger::Holder;
use tokio_util::sync::CancellationToken;

use self::{
    admission::{Admission, Applicant},
    plan::{Plan, Scopes},
    prompt::WorkspaceFacts,
};
use crate::{
    agents::skills_block,
    instructions,
    memory::Remembering,
    message::IncomingMessage,
    overrides::Overrides,
    ports::{ChannelIo, HistoryTurn, Workspace, WorkspaceError, WorkspaceRequest},
    run::{Assignment, Voice},
    service::{Core, InFlight},
    threads::{Claim, Closed},
};

/// How often a request is begun again because the run that held its thread elsewhere ended meanwhile.
const BEGINNINGS: usize = 3;

/// A stage that took place before the run was created, for its spans.
struct Stage {
    name: &'static str,
    started_at: UnixMillis,
    ended_at: UnixMillis,
}

/// A request that may run.
struct Prepared {
    text: String,
    history: Vec<HistoryTurn>,
    /// The agent it names itself.
    names: Option<String>,
    actor: Actor,
    git_ref: Option<RefName>,
    claim: Claim,
    assignment: Assignment,
    conversation: Vec<Turn>,
    facts: Option<WorkspaceFacts>,
    stages: Vec<Stage>,
    remembering: Option<Remembering>,
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

/// Serves one request to its end.
pub async fn dispatch(core: &Core, message: IncomingMessage, io: Arc<dyn ChannelIo>) {
    let mut in_flight = core.enter();
    let (mut message, mut io) = (message, io);
    for _ in 0..BEGINNINGS {
        let prepared = match prepare(core, &message, &io).await {
            Ok(Ready::Run(prepared)) => *prepared,
            Ok(Ready::Steered(ack)) => return say(&*io, &ack).await,
            Err(refusal) => return refuse(&message, &*io, &refusal).await,
        };
        let Err(elsewhere) = execute::execute(core, message, prepared, io, in_flight).await else { return };
        let Elsewhere { message: back, prepared, io: back_io, in_flight: guard, holder } = *elsewhere;
        // What was steered to the run that is not to be finds the one that holds the thread.
        for sender in prepared.claim.mailbox().close(Closed::Ended).into_iter().filter_map(|one| one.sender) {
            let (core, counted) = (core.clone(), core.enter());
            tokio::spawn(async move {
                core.dispatch(sender.message, sender.io).await;
                drop(counted);
            });
        }
        let applicant = Applicant {
            message: &back,
            io: &back_io,
            actor: &prepared.actor,
            names: prepared.names.as_deref(),
            agent: prepared.assignment.agent.name,
            text: &prepared.text,
        };
        match applicant.steer_elsewhere(core, &holder).await {
            Some(Ok(ack)) => return say(&*back_io, &ack).await,
            Some(Err(refusal)) => return refuse(&back, &*back_io, &refusal).await,
            // It ended between the claim and the message: the thread may be free now.
            None => (message, io, in_flight) = (back, back_io, guard),
        }
    }
    refuse(&message, &*io, "⏳ This thread is busy in another process. Ask again in a moment.").await;
}

async fn say(io: &dyn ChannelIo, text: &str) {
    if let Err(error) = io.reply(text).await {
        tracing::warn!(error = %error, "reply not delivered");
    }
}

async fn refuse(message: &IncomingMessage, io: &dyn ChannelIo, refusal: &str) {
    tracing::info!(actor = %message.actor.id, channel = %message.channel_id, "request refused");
    say(io, refusal).await;
}

/// Everything up to the creation of the run. An `Err` is what the requester is told.
async fn prepare(core: &Core, message: &IncomingMessage, io: &Arc<dyn ChannelIo>) -> Result<Ready, String> {
    let deps = core.deps();
    let mut stages = Vec::new();

    let began = core.clock().now();
    let history = io.history().await;
    stages.push(Stage { name: "dispatch.history", started_at: began, ended_at: core.clock().now() });

    let directed = directives::read(&message.text).map_err(|refused| format!("⚠️ Sorry, {refused}"))?;
    let earlier = directives::sticky(user_texts(&history));
    let own_choices = plan::merge(message.choices.clone(), directed.choices);
    let names = own_choices.agent.clone();
    let chosen = plan::merge(own_choices, earlier);

    let own = deps.workspaces.repository_of(&message.thread_key).await.map_err(|error| not_ready(&error))?;
    let actor = with_configured_grants(&message.actor, core);
    let overrides = deps.capabilities.overrides.as_ref().map(Overrides::current).unwrap_or_default();
    let scopes = Scopes::of(&deps.settings, &overrides, &actor.id, &message.channel_id);
    let plan = plan::resolve(chosen, &scopes, &actor, &deps.settings, own.as_ref())
        .map_err(|refused| format!("⛔ Sorry, {refused}"))?;
    let client = deps.models.client(&plan.model).map_err(|error| format!("⚠️ {error}"))?;

    let applicant = Applicant {
        message,
        io,
        actor: &actor,
        names: names.as_deref(),
        agent: plan.agent.name,
        text: &directed.text,
    };
    let claim = match applicant.admit(core).await? {
        Admission::Claimed(claim) => claim,
        Admission::Steered(ack) => return Ok(Ready::Steered(ack)),
    };

    let left_of_day = left_of_day(core).await?;
    let repository = plan.repository.as_ref().or(own.as_ref()).map(|repository| repository.name.as_str());
    let (ground, remembered) = tokio::join!(
        ground(core, message, &plan, &mut stages),
        Remembering::begin(core, message, &actor, repository, &directed.text),
    );
    let Ground { workspace, facts } = ground?;
    let (remembering, recalled) = remembered.map_or((None, None), |(part, block)| (Some(part), block));
    let conversation = prompt::conversation(prompt::recent(&history), &directed.text);
    let mut assignment = Assignment::of(deps, plan.agent, Voice { name: plan.model, client }, plan.effort);
    assignment.limits.cap = tightened(assignment.limits.cap, left_of_day);
    let instructions = match &workspace {
        Some(workspace) => instructions::block(&**workspace, &deps.redactor).await,
        None => None,
    };
    assignment.system = system(&assignment, facts.as_ref(), &scopes, [recalled, instructions]);
    assignment.workspace = workspace;
    let remembering = remembering.map(|part| part.after(conversation.len().saturating_sub(1)));
    Ok(Ready::Run(Box::new(Prepared {
        text: directed.text,
        history,
        names,
        actor,
        git_ref: plan.git_ref,
        claim,
        assignment,
        conversation,
        facts,
        stages,
        remembering,
    })))
}

/// Where a run stands: its tree, and what is known of it.
struct Ground {
    workspace: Option<Arc<dyn Workspace>>,
    facts: Option<WorkspaceFacts>,
}

async fn ground(
    core: &Core,
    message: &IncomingMessage,
    plan: &Plan,
    stages: &mut Vec<Stage>,
) -> Result<Ground, String> {
    let began = core.clock().now();
    let Some(workspace) = attach(core, message, plan).await? else {
        return Ok(Ground { workspace: None, facts: None });
    };
    stages.push(Stage { name: "dispatch.workspace.attach", started_at: began, ended_at: core.clock().now() });
    let facts = WorkspaceFacts {
        repository: workspace.repository().unwrap_or("(none)").to_owned(),
        head: workspace.head().await.map_err(|error| not_ready(&error))?,
    };
    Ok(Ground { workspace: Some(workspace), facts: Some(facts) })
}

/// The system prompt: what is remembered, the agent's own prompt, then what people, the repository and skills say.
fn system(
    assignment: &Assignment,
    facts: Option<&WorkspaceFacts>,
    scopes: &Scopes,
    [recalled, instructions]: [Option<String>; 2],
) -> String {
    let agent = assignment.agent;
    let skills = assignment.skills.as_deref().and_then(|skills| skills_block(skills, agent.name));
    let wishes =
        instructions_block(scopes.channel.instructions.as_deref(), scopes.user.instructions.as_deref());
    let prompt = prompt::system(agent, facts, [wishes, instructions, skills]);
    match recalled {
        Some(block) => format!("{block}\n\n{prompt}"),
        None => prompt,
    }
}

/// What is left of the day's money; nothing when it is not capped.
async fn left_of_day(core: &Core) -> Result<Option<u64>, String> {
    let Some(cap) = core.settings().money.day else { return Ok(None) };
    core.day_spend().left(cap, &**core.store(), core.clock().now()).await.map(Some)
}

/// The smaller of a run's own cap and what is left of the day.
fn tightened(cap: Option<MoneyCap>, left_of_day: Option<u64>) -> Option<MoneyCap> {
    let left = left_of_day.map(|run_microusd| MoneyCap { run_microusd });
    match (cap, left) {
        (Some(cap), Some(left)) => Some(MoneyCap { run_microusd: cap.run_microusd.min(left.run_microusd) }),
        (cap, left) => cap.or(left),
    }
}

fn user_texts(history: &[HistoryTurn]) -> impl Iterator<Item = &str> {
    history.iter().filter(|turn| turn.role == Role::User).map(|turn| turn.text.as_str())
}

fn with_configured_grants(actor: &Actor, core: &Core) -> Actor {
    ars_auth::grants::granted(actor, &core.settings().grants)
}

async fn attach(
    core: &Core,
    message: &IncomingMessage,
    plan: &Plan,
) -> Result<Option<Arc<dyn Workspace>>, String> {
    if !plan.agent.needs_repository {
        return Ok(None);
    }
    let request = WorkspaceRequest {
        thread: &message.thread_key,
        repository: plan.repository.as_ref(),
        git_ref: plan.git_ref.as_ref(),
    };
    let opened = core.deps().workspaces.open(request, &CancellationToken::new()).await;
    opened.map(Some).map_err(|error| not_ready(&error))
}

fn not_ready(error: &WorkspaceError) -> String {
    tracing::warn!(error = %error, "workspace not ready");
    format!("❌ The workspace could not be made ready: {error}")
}
