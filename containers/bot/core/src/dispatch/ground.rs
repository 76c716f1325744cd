//! What a run is given once it is begun and before its first model call: the thread's tree, what is remembered, and the
//! system prompt made of both (bot supplement section 12.1, stages 11 to 13).
//!
//! The run is in the ledger by then and its stream open: whoever asked can watch a long clone and stop it. Not here: what
//! becomes of a run that cannot be equipped (`execute`).

use std::sync::Arc;

use ars_bot_ports::{IncomingMessage, Workspace, WorkspaceRequest, trace};
use ars_bot_tools::{agents::skills_block, instructions};
use ars_events::EventBody;
use ars_settings::instructions_block;

use super::{
    Asked, not_ready,
    plan::Scopes,
    prompt::{self, WorkspaceFacts},
};
use crate::{conclude::Conclusion, context::RunContext, memory::Remembering, run::Assignment};

/// Where a run stands.
#[derive(Default)]
struct Ground {
    workspace: Option<Arc<dyn Workspace>>,
    facts: Option<WorkspaceFacts>,
}

/// Completes the assignment of a run before whose request there were so many turns; its part in memory, if it has one. An
/// `Err` is what the requester is told.
pub(super) async fn equip(
    context: &RunContext,
    message: &IncomingMessage,
    asked: &Asked,
    conclusion: &Conclusion,
    assignment: &mut Assignment,
    prior_turns: usize,
) -> Result<Option<Remembering>, String> {
    let (ground, remembered) = tokio::join!(
        ground(context, message, asked, conclusion, assignment),
        remember(context, message, asked, conclusion),
    );
    let facts = ground.as_ref().ok().and_then(|ground| ground.facts.as_ref());
    conclusion.run.publish(what_it_runs_with(conclusion, asked, assignment, facts));
    let Ground { workspace, facts } = ground?;
    let (remembering, recalled) =
        remembered.map_or((None, None), |(part, block)| (Some(part.after(prior_turns)), block));
    let instructions = match &workspace {
        Some(workspace) => {
            let reading = conclusion.stage(context, "dispatch.repo_context");
            let block = instructions::block(&**workspace, &context.deps().redactor).await;
            reading.end(None, None);
            block
        }
        None => None,
    };
    let composing = conclusion.stage(context, "dispatch.compose");
    assignment.system = system(assignment, facts.as_ref(), &asked.scopes, [recalled, instructions]);
    assignment.workspace = workspace;
    if let Some(tracked) = &conclusion.tracked {
        tracked.specify(&assignment.system, remembering.as_ref().and_then(Remembering::to_state));
    }
    composing.end(None, None);
    Ok(remembering)
}

/// Reads what is remembered, within a span, where anything is.
async fn remember(
    context: &RunContext,
    message: &IncomingMessage,
    asked: &Asked,
    conclusion: &Conclusion,
) -> Option<(Remembering, Option<String>)> {
    context.deps().capabilities.memory.as_ref()?;
    let span = conclusion.stage(context, "dispatch.memory_read");
    let begun =
        Remembering::begin(context, message, &asked.actor, asked.repository(), &asked.directed.text).await;
    span.end(None, None);
    begun
}

/// Opens the thread's tree, within a span; a hard stop ends a clone under way.
async fn ground(
    context: &RunContext,
    message: &IncomingMessage,
    asked: &Asked,
    conclusion: &Conclusion,
    assignment: &Assignment,
) -> Result<Ground, String> {
    if !assignment.agent.needs_repository {
        return Ok(Ground::default());
    }
    let Conclusion { run, spans, request, .. } = conclusion;
    let span = spans.start(run, Some(request.id()), "dispatch.workspace.attach", context.clock().now());
    let request = WorkspaceRequest {
        thread: &message.thread_key,
        repository: asked.named.as_ref(),
        git_ref: asked.git_ref.as_ref(),
    };
    let opened = async {
        let workspace = context.deps().workspaces.open(request, &run.stops().hard).await?;
        let head = workspace.head().await?;
        let repository = workspace.repository().unwrap_or("(none)").to_owned();
        Ok(Ground { workspace: Some(workspace), facts: Some(WorkspaceFacts { repository, head }) })
    };
    let opened = opened.await.map_err(|error| not_ready(&error));
    let error = opened.is_err().then(|| "workspace".to_owned());
    spans.end(run, span, error, None, context.clock().now());
    opened
}

fn what_it_runs_with(
    conclusion: &Conclusion,
    asked: &Asked,
    assignment: &Assignment,
    facts: Option<&WorkspaceFacts>,
) -> EventBody {
    EventBody::RunMeta {
        agent: assignment.agent.name.to_owned(),
        model: Some(assignment.model.name.to_string()),
        effort: assignment.effort.map(|effort| effort.to_string()),
        trace_id: Some(trace::trace_id(conclusion.run.id())),
        repo: facts.map(|facts| facts.repository.clone()),
        git_ref: asked.git_ref.as_ref().map(ToString::to_string),
        head_sha: facts.and_then(|facts| facts.head.clone()),
    }
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
