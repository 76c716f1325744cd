//! The preparation of a new run: working tree, recalled memory, and the system prompt made of both.
//!
//! The run is in the ledger and the event stream open, so a requester can watch a long clone and stop it.

use std::sync::Arc;

use ars_bot_ports::{
    IncomingMessage, OpenFor, Placement, Refusal, Workspace, WorkspaceError, WorkspaceRequest,
    texts, trace,
};
use ars_bot_tools::{
    agents::{PULL_REQUEST_PROMPT, skills_block},
    instructions, submodules,
};
use ars_codehost::pull_request::KnownCommands;
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
    run::{
        Assignment, NamedPullRequest, PreparedRun, ReviewTarget, SpanResult, Work, known_commands,
    },
};

/// The request that a run is prepared for.
pub(super) struct Source<'a> {
    pub(super) message: &'a IncomingMessage,
    pub(super) parsed: &'a ParsedRequest,
    pub(super) resolved: &'a ResolvedRequest,
    pub(super) plan: &'a RunPlan,
}

/// The open working tree of a run, if the agent needs one.
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

/// What the preparation of a run adds to its assignment.
pub(super) struct ReadyParts {
    workspace: Option<Arc<dyn Workspace>>,
    system: String,
    work: Work,
    /// The run's part in memory, if it has any.
    remembering: Option<Remembering>,
}

impl ReadyParts {
    /// Returns the run with this assignment, and its part in memory.
    pub(super) fn with(self, spec: Assignment) -> (PreparedRun, Option<Remembering>) {
        let prepared = PreparedRun {
            spec,
            workspace: self.workspace,
            system: self.system,
            work: self.work,
        };
        (prepared, self.remembering)
    }
}

/// Prepares a run after `prior_turns` turns.
pub(super) async fn prepare_run(
    context: &RunContext,
    source: &Source<'_>,
    active: &ActiveRun,
    spec: &Assignment,
    prior_turns: usize,
) -> Result<ReadyParts, Refusal> {
    let (prepared, remembered) = tokio::join!(
        prepare_workspace(context, source, active, spec),
        recall(context, source, active, prior_turns),
    );
    publish_meta(context, source, active, spec, prepared.as_ref().ok());
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
    let (review, review_block) = review.map(|it| (it.target, it.block)).unzip();
    let (named, named_block) = named.map(|it| (it.named, it.block)).unzip();
    let of_host = review_block.or_else(|| {
        opens_pull_request(spec, workspace.as_deref()).then(|| {
            let named = named_block.map(|block| format!("\n\n{block}"));
            format!("{PULL_REQUEST_PROMPT}{}", named.unwrap_or_default())
        })
    });
    let work = work(context, source, spec, workspace.as_deref(), (review, named)).await;
    let is_structured = context.settings().structured_output;
    let form = is_structured.then(|| ars_answers::INSTRUCTIONS.to_owned());
    let blocks = [recalled, submodules, instructions, of_host, form];
    let scopes = &source.resolved.scopes;
    let system = system_prompt(spec, facts.as_ref(), scopes, blocks);
    store_prepared(active, &work, &system, remembering.as_ref());
    composing.end();
    Ok(ReadyParts {
        workspace,
        system,
        work,
        remembering,
    })
}

/// Returns the run's work, with what the tree and the code host tell about it.
async fn work(
    context: &RunContext,
    source: &Source<'_>,
    spec: &Assignment,
    workspace: Option<&dyn Workspace>,
    (target, named): (Option<ReviewTarget>, Option<NamedPullRequest>),
) -> Work {
    match spec.new_work() {
        Work::Change {
            description,
            evidence,
            ..
        } => Work::Change {
            description,
            evidence,
            commands: commands_in(context, workspace).await,
            base: source.git_ref().cloned(),
            named,
        },
        Work::Review { verdict, .. } => Work::Review { verdict, target },
        Work::Answer => Work::Answer,
    }
}

/// Returns the test and build commands from the table of the tree's repository.
pub(super) async fn commands_in(
    context: &RunContext,
    workspace: Option<&dyn Workspace>,
) -> KnownCommands {
    let Some(workspace) = workspace else {
        return KnownCommands::default();
    };
    let residents = context.deps().capabilities.commands.residents.as_deref();
    known_commands(workspace, residents).await
}

/// Publishes the facts of the run, also of one without a workspace.
fn publish_meta(
    context: &RunContext,
    source: &Source<'_>,
    active: &ActiveRun,
    spec: &Assignment,
    prepared: Option<&PreparedWorkspace>,
) {
    let workspace = prepared.and_then(|prepared| prepared.workspace.as_deref());
    let placement =
        workspace.map(|workspace| with_sandbox(context, Workspace::placement(workspace)));
    active.run.publish(run_meta_event(
        active,
        source,
        spec,
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
fn store_prepared(
    active: &ActiveRun,
    work: &Work,
    system: &str,
    remembering: Option<&Remembering>,
) {
    let Some(tracked) = active.claim.tracked() else {
        return;
    };
    let review = work.review_target();
    let review = review.and_then(|target| serde_json::to_value(target).ok());
    let named = work.named_pull_request();
    let named = named.and_then(|named| serde_json::to_value(named).ok());
    tracked.change(|state| (state.review, state.named) = (review, named));
    let memory = remembering.and_then(Remembering::to_state);
    tracked.specify(system, memory);
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
    spec: &Assignment,
) -> Result<PreparedWorkspace, Refusal> {
    if !spec.agent.needs_repository {
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
    let opened = open_workspace(context, source, active, spec).await;
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
    spec: &Assignment,
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
        agent: Some(spec.agent.name),
        access: spec.agent.tree_access(),
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
    let abilities = spec.agent.abilities;
    let review = match &spec.code_host {
        Some(access) if abilities.gives_verdict => {
            review_target::attach(access, &*workspace, naming, stop).await?
        }
        _ => None,
    };
    let named = match &spec.code_host {
        Some(access) if abilities.changes_code => {
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
fn opens_pull_request(spec: &Assignment, workspace: Option<&dyn Workspace>) -> bool {
    let access = spec
        .code_host
        .as_ref()
        .filter(|_| spec.agent.abilities.changes_code);
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
    spec: &Assignment,
    facts: Option<&WorkspaceFacts>,
    placement: Option<&Placement>,
    pull_request: Option<u64>,
) -> EventBody {
    let sandbox = placement.and_then(|placement| placement.sandbox.as_ref());
    EventBody::RunMeta {
        agent: spec.agent.name.to_owned(),
        model: Some(spec.model.name.to_string()),
        effort: spec.effort.map(|effort| effort.to_string()),
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

/// Composes the system prompt: memory, agent, then instructions of people, repository and skills,
/// and the answer's form.
fn system_prompt(
    spec: &Assignment,
    facts: Option<&WorkspaceFacts>,
    scopes: &ActiveScopes,
    [recalled, submodules, instructions, of_host, form]: [Option<String>; 5],
) -> String {
    let agent = spec.agent;
    let skills = spec
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
        [submodules, of_host, custom, instructions, skills, form],
    );
    match recalled {
        Some(block) => format!("{block}\n\n{prompt}"),
        None => prompt,
    }
}
