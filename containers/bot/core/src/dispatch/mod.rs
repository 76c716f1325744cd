//! `dispatch(deps, msg, io)`: the stages of a request, in the order of bot supplement section 12.1.
//!
//! A refusal before the run is created is one reply and no run. From the creation on, whatever happens ends in a
//! finished run, a reply attempt and a record.

pub mod directives;
mod execute;
mod plan;
mod prompt;

use std::sync::Arc;

use ars_agent::Role;
use ars_auth::Actor;
use ars_types::UnixMillis;
use tokio_util::sync::CancellationToken;

use self::{execute::Prepared, plan::Plan, prompt::WorkspaceFacts};
use crate::{
    message::IncomingMessage,
    ports::{ChannelIo, HistoryTurn, Workspace, WorkspaceRequest},
    service::Core,
    threads::Occupant,
};

/// A stage that took place before the run was created, for its spans.
struct Stage {
    name: &'static str,
    started_at: UnixMillis,
    ended_at: UnixMillis,
}

/// Serves one request to its end.
pub async fn dispatch(core: &Core, message: IncomingMessage, io: &dyn ChannelIo) {
    let in_flight = core.enter();
    match prepare(core, &message, io).await {
        Ok(prepared) => execute::execute(core, message, prepared, io, in_flight).await,
        Err(refusal) => {
            tracing::info!(actor = %message.actor.id, channel = %message.channel_id, "request refused");
            if let Err(error) = io.reply(&refusal).await {
                tracing::warn!(error = %error, "refusal not delivered");
            }
        }
    }
}

/// Everything up to the creation of the run. An `Err` is what the requester is told.
async fn prepare(core: &Core, message: &IncomingMessage, io: &dyn ChannelIo) -> Result<Prepared, String> {
    let deps = core.deps();
    let mut stages = Vec::new();

    let began = core.clock().now();
    let history = io.history().await;
    stages.push(Stage { name: "dispatch.history", started_at: began, ended_at: core.clock().now() });

    let directed = directives::read(&message.text).map_err(|refused| format!("⚠️ Sorry, {refused}"))?;
    let earlier = directives::sticky(user_texts(&history));
    let chosen = plan::merge(plan::merge(message.choices.clone(), directed.choices), earlier);

    let own = deps.workspaces.repository_of(&message.thread_key).await.map_err(|error| refuse(&error))?;
    let actor = with_configured_grants(&message.actor, core);
    let plan = plan::resolve(chosen, &actor, &deps.settings, own.as_ref())
        .map_err(|refused| format!("⛔ Sorry, {refused}"))?;
    let client = deps.models.client(&plan.model).map_err(|error| format!("⚠️ {error}"))?;

    let claim = core
        .threads()
        .claim(&message.thread_key, plan.agent.name, core.clock().now())
        .map_err(|occupant| busy(&occupant, core))?;

    let began = core.clock().now();
    let workspace = attach(core, message, &plan).await?;
    let facts = match &workspace {
        Some(workspace) => {
            stages.push(Stage {
                name: "dispatch.workspace.attach",
                started_at: began,
                ended_at: core.clock().now(),
            });
            Some(WorkspaceFacts {
                repository: workspace.repository().unwrap_or("(none)").to_owned(),
                head: workspace.head().await.map_err(|error| refuse(&error))?,
            })
        }
        None => None,
    };
    Ok(Prepared { text: directed.text, history, plan, client, claim, workspace, facts, stages })
}

fn user_texts(history: &[HistoryTurn]) -> impl Iterator<Item = &str> {
    history.iter().filter(|turn| turn.role == Role::User).map(|turn| turn.text.as_str())
}

fn with_configured_grants(actor: &Actor, core: &Core) -> Actor {
    match core.settings().grants.get(&actor.id) {
        Some(grants) => actor.with(grants),
        None => actor.clone(),
    }
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
    opened.map(Some).map_err(|error| refuse(&error))
}

fn refuse(error: &crate::ports::WorkspaceError) -> String {
    tracing::warn!(error = %error, "workspace not ready");
    format!("❌ The workspace could not be made ready: {error}")
}

fn busy(occupant: &Occupant, core: &Core) -> String {
    let seconds = core.clock().now().saturating_sub(occupant.since).max(0) / 1000;
    let link = match &occupant.run {
        Some(run) => format!(": {}", core.settings().run_url(run)),
        None => String::new(),
    };
    format!(
        "⏳ The {} agent has been working in this thread for {seconds} s{link}. Ask again when it has finished.",
        occupant.agent
    )
}
