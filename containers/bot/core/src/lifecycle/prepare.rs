//! The preparation of a new run: working tree, recalled memory, and the system prompt made of both.
//!
//! The run is in the ledger and its event stream open, so a requester can watch a long clone and stop it.

use std::sync::Arc;

use ars_bot_ports::{
    IncomingMessage, OpenFor, Placement, Refusal, Workspace, WorkspaceError, WorkspaceRequest,
    texts, trace,
};
use ars_bot_tools::{
    agents::{PULL_REQUEST_PROMPT, skills_block},
    instructions, submodules,
};
use ars_events::{EventBody, NoteKind};
use ars_settings::instructions_block;
use ars_types::{RefName, TreePlace};

use super::{
    active::ActiveRun,
    continued::{self, NamedTarget},
    prompt::{self, WorkspaceFacts},
    review_target::{self, AttachedTarget, NamingRequest},
};
use crate::{
    context::RunContext,
    gates::configured_place,
    memory::{Remembering, Successor},
    request::{ActiveScopes, ParsedRequest, ResolvedRequest, RunPlan},
    run::{Assignment, SpanResult, known_commands},
};

/// The request that a run is prepared for.
pub(super) struct Source<'a> {
    pub(super) message: &'a IncomingMessage,
    pub(super) parsed: &'a ParsedRequest,
    pub(super) resolved: &'a ResolvedRequest,
    pub(super) plan: &'a RunPlan,
}

/// The open working tree of a run, if its agent needs one.
#[derive(Default)]
struct PreparedWorkspace {
    workspace: Option<Arc<dyn Workspace>>,
    facts: Option<WorkspaceFacts>,
    review: Option<AttachedTarget>,
    named: Option<NamedTarget>,
}

impl PreparedWorkspace {
    /// Returns the number of the pull request that the run reviews or continues.
    fn pull_request(&self) -> Option<u64> {
        let continued = self.named.as_ref().map(|target| &target.named);
        let continued = continued
            .filter(|named| named.continued.is_some())
            .map(|named| named.number);
        self.review
            .as_ref()
            .map(|review| review.target.number)
            .or(continued)
    }
}

impl Source<'_> {
    fn git_ref(&self) -> Option<&RefName> {
        self.parsed.choices.git_ref.as_ref()
    }
}

/// Completes the assignment of a run after `prior_turns` turns; returns its part in memory, if any.
pub(super) async fn prepare_run(
    context: &RunContext,
    source: &Source<'_>,
    active: &ActiveRun,
    assignment: &mut Assignment,
    prior_turns: usize,
) -> Result<Option<Remembering>, Refusal> {
    let (prepared, remembered) = tokio::join!(
        prepare_workspace(context, source, active, assignment),
        recall(context, source, active, prior_turns),
    );
    publish_meta(context, source, active, assignment, prepared.as_ref().ok());
    let PreparedWorkspace {
        workspace,
        facts,
        review,
        named,
    } = prepared?;
    if let Some(workspace) = workspace.as_deref() {
        let commit = facts.as_ref().and_then(|facts| facts.head.as_deref());
        note_replaced_tree(active, workspace, commit);
    }
    // Strangers write the title and the diff of a pull request, and in the threads of such a channel.
    let has_host_text = review.is_some() || active.io.traits().has_untrusted_text;
    let (remembering, recalled) = remembered.map_or((None, None), |(part, block)| {
        (
            Some(part.after(prior_turns).with_host_text(has_host_text)),
            block,
        )
    });
    let (instructions, submodules) = match workspace.as_deref() {
        Some(workspace) => repository_blocks(context, active, workspace).await,
        None => (None, None),
    };
    let composing = active.stage(context, "dispatch.compose");
    let scopes = &source.resolved.scopes;
    let of_host = match review {
        Some(AttachedTarget { target, block }) => {
            assignment.review = Some(target);
            Some(block)
        }
        None => opens_pull_request(assignment, workspace.as_deref()).then(|| {
            let named = named.as_ref().map(|named| format!("\n\n{}", named.block));
            format!("{PULL_REQUEST_PROMPT}{}", named.unwrap_or_default())
        }),
    };
    assignment.named = named.map(|named| named.named);
    if let Some(workspace) = workspace
        .as_deref()
        .filter(|_| assignment.evidence.is_some())
    {
        let residents = context.deps().capabilities.commands.residents.as_deref();
        assignment.commands = known_commands(workspace, residents).await;
    }
    assignment.base = source.git_ref().cloned();
    let blocks = [recalled, submodules, instructions, of_host];
    assignment.system = system_prompt(assignment, facts.as_ref(), scopes, blocks);
    assignment.workspace = workspace;
    store_assignment(active, assignment, remembering.as_ref());
    composing.end();
    Ok(remembering)
}

/// Publishes the facts of the run, also of one without a workspace.
fn publish_meta(
    context: &RunContext,
    source: &Source<'_>,
    active: &ActiveRun,
    assignment: &Assignment,
    prepared: Option<&PreparedWorkspace>,
) {
    let workspace = prepared.and_then(|prepared| prepared.workspace.as_deref());
    let placement =
        workspace.map(|workspace| with_sandbox(context, Workspace::placement(workspace)));
    active.run.publish(run_meta_event(
        active,
        source,
        assignment,
        prepared.and_then(|prepared| prepared.facts.as_ref()),
        placement.as_ref(),
        prepared.and_then(PreparedWorkspace::pull_request),
    ));
    if let Some(note) = placement.and_then(|placement| placement.note) {
        active.run.publish(EventBody::note(NoteKind::Tree, note));
    }
}

/// Informs the run's reader about a tree that is not the one of the last run.
fn note_replaced_tree(active: &ActiveRun, workspace: &dyn Workspace, commit: Option<&str>) {
    if workspace.is_cloned_again() {
        let text = texts::tree_removed(commit);
        active
            .run
            .publish(EventBody::note(NoteKind::TreeRemoved, text));
    }
    if let Some(name) = workspace.restored_from() {
        let text = texts::tree_restored(name);
        active.run.publish(EventBody::note(NoteKind::Tree, text));
    }
}

/// Reads the repository's instructions and submodules within a span.
async fn repository_blocks(
    context: &RunContext,
    active: &ActiveRun,
    workspace: &dyn Workspace,
) -> (Option<String>, Option<String>) {
    let reading = active.stage(context, "dispatch.repo_context");
    let instructions = instructions::block(workspace, &context.deps().redactor).await;
    let submodules = submodules::block(workspace).await;
    reading.end();
    (instructions, submodules)
}

/// Stores in the ledger what another process needs to continue the run.
fn store_assignment(
    active: &ActiveRun,
    assignment: &Assignment,
    remembering: Option<&Remembering>,
) {
    let Some(tracked) = active.claim.tracked() else {
        return;
    };
    let review = assignment.review.as_ref();
    let review = review.and_then(|target| serde_json::to_value(target).ok());
    let named = assignment.named.as_ref();
    let named = named.and_then(|named| serde_json::to_value(named).ok());
    tracked.change(|state| (state.review, state.named) = (review, named));
    let memory = remembering.and_then(Remembering::to_state);
    tracked.specify(&assignment.system, memory);
}

/// Reads the relevant memory within a span, if the installation has memory.
async fn recall(
    context: &RunContext,
    source: &Source<'_>,
    active: &ActiveRun,
    prior_turns: usize,
) -> Option<(Remembering, Option<String>)> {
    context.deps().capabilities.memory.as_ref()?;
    let span = active.stage(context, "dispatch.memory_read");
    let repository = source.plan.repository();
    let text = &source.parsed.directives.text;
    let successor = Successor {
        run: active.run.id(),
        thread: &source.message.thread_key,
        channel: &source.message.channel_id,
    };
    // Without a history and a tree, a run reads no text of its predecessors.
    let successor = Some(successor).filter(|_| prior_turns > 0 || source.plan.own.is_some());
    let actor = &source.resolved.actor;
    let begun =
        Remembering::begin(context, source.message, actor, repository, text, successor).await;
    span.end();
    begun
}

/// Opens the thread's working tree within a span. A hard stop cancels a clone.
async fn prepare_workspace(
    context: &RunContext,
    source: &Source<'_>,
    active: &ActiveRun,
    assignment: &Assignment,
) -> Result<PreparedWorkspace, Refusal> {
    if !assignment.agent.needs_repository {
        return Ok(PreparedWorkspace::default());
    }
    let ActiveRun {
        run,
        spans,
        request,
        ..
    } = active;
    let span = spans.start(
        run,
        Some(request.id()),
        "dispatch.workspace.attach",
        context.clock().now(),
    );
    let opened = open_workspace(context, source, active, assignment).await;
    let error = opened.is_err().then(|| "workspace".to_owned());
    spans.end(
        run,
        span,
        SpanResult::from_error(error),
        context.clock().now(),
    );
    opened
}

async fn open_workspace(
    context: &RunContext,
    source: &Source<'_>,
    active: &ActiveRun,
    assignment: &Assignment,
) -> Result<PreparedWorkspace, Refusal> {
    let thread = &source.message.thread_key;
    let stop = &active.run.stops().hard;
    // The plan has checked its gate.
    let own = source
        .plan
        .own
        .as_ref()
        .map(|own| configured_place(own, context.settings()));
    let request = WorkspaceRequest {
        thread,
        repository: source.plan.choice.repository.as_ref(),
        own: own.as_ref(),
        git_ref: source.git_ref(),
        agent: Some(assignment.agent.name),
        access: assignment.agent.tree_access(),
        purpose: OpenFor::Run,
    };
    let workspace = context
        .deps()
        .workspaces
        .open(request, stop)
        .await
        .map_err(not_ready)?;
    let must_continue = source.parsed.choices.must_continue;
    let naming = NamingRequest {
        text: &source.parsed.directives.text,
        thread,
        must_continue,
    };
    let review = match &assignment.code_host {
        Some(access) if assignment.verdict.is_some() => {
            review_target::attach(access, &*workspace, naming, stop).await?
        }
        _ => None,
    };
    let named = match &assignment.code_host {
        Some(access) if assignment.description.is_some() => {
            continued::attach(access, &*workspace, naming, source.git_ref(), stop).await?
        }
        _ => None,
    };
    let head = workspace.head().await.map_err(not_ready)?;
    let repository = workspace.repository().unwrap_or("(none)").to_owned();
    let facts = Some(WorkspaceFacts { repository, head });
    Ok(PreparedWorkspace {
        workspace: Some(workspace),
        facts,
        review,
        named,
    })
}

fn not_ready(error: WorkspaceError) -> Refusal {
    tracing::warn!(error = %error, "workspace not ready");
    Refusal::WorkspaceNotReady(error)
}

/// Returns whether the commits of a run become a pull request.
fn opens_pull_request(assignment: &Assignment, workspace: Option<&dyn Workspace>) -> bool {
    let access = assignment
        .code_host
        .as_ref()
        .filter(|_| assignment.description.is_some());
    access
        .zip(workspace)
        .is_some_and(|(access, workspace)| access.repository_of(workspace).is_some())
}

/// Adds the provider's sandbox to a tree on the disk of the bot.
fn with_sandbox(context: &RunContext, placement: Placement) -> Placement {
    match placement.tree {
        TreePlace::Local => Placement {
            sandbox: context.deps().workspaces.sandbox(),
            ..placement
        },
        TreePlace::Resident => placement,
    }
}

fn run_meta_event(
    active: &ActiveRun,
    source: &Source<'_>,
    assignment: &Assignment,
    facts: Option<&WorkspaceFacts>,
    placement: Option<&Placement>,
    pull_request: Option<u64>,
) -> EventBody {
    let sandbox = placement.and_then(|placement| placement.sandbox.as_ref());
    EventBody::RunMeta {
        agent: assignment.agent.name.to_owned(),
        model: Some(assignment.model.name.to_string()),
        effort: assignment.effort.map(|effort| effort.to_string()),
        trace_id: Some(trace::trace_id(active.run.id())),
        repo: facts.map(|facts| facts.repository.clone()),
        git_ref: source.git_ref().map(ToString::to_string),
        head_sha: facts.and_then(|facts| facts.head.clone()),
        pr: pull_request,
        sandbox: sandbox.map(|sandbox| sandbox.kind),
        sandbox_skipped: sandbox.and_then(|sandbox| sandbox.skipped.clone()),
        network: sandbox.map(|sandbox| sandbox.network),
        cgroup: sandbox.map(|sandbox| sandbox.cgroup),
        tree: placement.map(|placement| placement.tree),
    }
}

/// Composes the system prompt: memory, agent, then instructions of people, repository and skills.
fn system_prompt(
    assignment: &Assignment,
    facts: Option<&WorkspaceFacts>,
    scopes: &ActiveScopes,
    [recalled, submodules, instructions, of_host]: [Option<String>; 4],
) -> String {
    let agent = assignment.agent;
    let skills = assignment
        .skills
        .as_deref()
        .and_then(|skills| skills_block(skills, agent.name));
    let custom = instructions_block(
        scopes.channel.instructions.as_deref(),
        scopes.user.instructions.as_deref(),
    );
    let prompt = prompt::system(
        agent,
        facts,
        [submodules, of_host, custom, instructions, skills],
    );
    match recalled {
        Some(block) => format!("{block}\n\n{prompt}"),
        None => prompt,
    }
}
