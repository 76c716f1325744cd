//! The first part of a run's life, from creation to the first model call.
//!
//! It opens the event stream, writes the provisional record and prepares the run. Not here: the
//! claim (`dispatch::start`), and the rest of the run, which a resumed run shares (`drive`,
//! `finish`).

use std::{fmt::Write as _, mem::take, panic::AssertUnwindSafe};

use ars_agent::{Part, Role, Turn};
use ars_bot_ports::{
    Attachment, ChannelEvent, HistoryTurn, IncomingMessage, Refusal, Workspace, metrics, texts,
};
use ars_events::{AttachedFile, EventBody, NoteKind};
use futures::FutureExt as _;

use super::{
    active::ActiveRun,
    drive::StartFrom,
    prepare::{Source, prepare_run},
    queue::Waited,
    unread::release,
};
use crate::{
    attachments::{FileUse, attached},
    context::RunContext,
    history::{self, RunTotals},
    limits::RunSlot,
    live::LedgerClaim,
    registry::RunHandle,
    request::{
        AdmittedRequest, ClaimedRun, DispatchedRun, ParsedRequest, PlannedRequest, Request, Stages,
        recent,
    },
    run::{self, Assignment, PreparedRun, Span, Spans},
};

/// The event text of a request that changed before the model read it.
const REQUEST_EDITED: &str = "the request was edited before the model read it";

/// Creates the claimed run, prepares it, drives it and finishes it.
pub(crate) async fn start(context: &RunContext, request: Request, dispatched: DispatchedRun) {
    let DispatchedRun {
        parsed,
        resolved,
        claimed,
    } = dispatched;
    let ClaimedRun {
        id,
        facts,
        admitted,
        assignment,
        is_tracked,
    } = claimed;
    let run = match context.registry().create(id, facts) {
        Ok(run) => run,
        Err(error) => {
            tracing::error!(error = %error, "no randomness for a run's token");
            release(context, admitted.claim);
            request
                .io
                .inform(ChannelEvent::Refused(Refusal::NotStarted))
                .await;
            return;
        }
    };
    admitted.claim.set_run(run.id());
    let spans = Spans::default();
    let root = publish_head(context, &run, &spans, &request, &parsed, &admitted.stages);
    let mailbox = admitted.claim.mailbox();
    let claim = match context.live() {
        Some(live) if is_tracked => LedgerClaim::Confirmed(Box::new(live.track(&run, mailbox, 0))),
        Some(live) => LedgerClaim::Unconfirmed(live.track_unconfirmed(&run, mailbox)),
        None => LedgerClaim::Untracked,
    };
    if let (Some(queued), Some(tracked)) = (admitted.queued, claim.tracked()) {
        // Before the requester learns of the run: a run that may wait is stored first.
        tracked.wait_in_queue(queued).await;
    }
    if mailbox.is_request_withdrawn() {
        context.stop_withdrawn(run.id()).await;
    }
    metrics::run_started(assignment.agent.name);
    request
        .io
        .inform(ChannelEvent::RunStarted(run.id().clone()))
        .await;
    let view = run.view();
    let totals = RunTotals::provisional(view.started_at);
    let provisional = context.history().begin(history::record(&view, totals));

    let Request {
        message,
        io,
        in_flight,
        ..
    } = request;
    let AdmittedRequest {
        claim: thread,
        slot,
        plan,
        ..
    } = admitted;
    let active = ActiveRun {
        run,
        spans,
        request: root,
        thread,
        claim,
        provisional,
        io,
        in_flight,
    };
    let planned = PlannedRequest {
        parsed,
        resolved,
        plan,
    };
    begin(context, active, assignment, slot, message, planned).await;
}

/// Waits for the run's slot, prepares the run, drives it and finishes it.
pub(super) async fn begin(
    context: &RunContext,
    active: ActiveRun,
    assignment: Assignment,
    slot: RunSlot,
    mut message: IncomingMessage,
    planned: PlannedRequest,
) {
    let slot = match active.slot(context, slot).await {
        Waited::Slot(slot) => slot,
        Waited::Over(report) => {
            let prepared = PreparedRun::without_tree(assignment);
            return active.finish(context, prepared, None, report).await;
        }
    };
    let PlannedRequest {
        mut parsed,
        resolved,
        plan,
    } = planned;
    // Taken out, because the conversation holds the files for as long as the run lives.
    let (files, history) = (take(&mut message.attachments), take(&mut parsed.history));
    let has_text = files.is_empty() || !parsed.directives.text.trim().is_empty();
    let conversation = initial_conversation(recent(&history), &parsed.directives.text, &files);
    drop((files, history));
    let source = Source {
        message: &message,
        parsed: &parsed,
        resolved: &resolved,
        plan: &plan,
    };
    let prior_turns = conversation.len().saturating_sub(1);
    let prepared = prepare_run(context, &source, &active, &assignment, prior_turns);
    let (prepared, report, remembering) = match AssertUnwindSafe(prepared).catch_unwind().await {
        Ok(Ok(ready)) => {
            let (prepared, remembering) = ready.with(assignment);
            let conversation = active.with_edit(conversation, &source, has_text);
            let conversation = with_tree_note(conversation, prepared.workspace.as_deref()).await;
            let start = StartFrom::Conversation(conversation);
            let report = active.drive(context, &prepared, start).await;
            (prepared, report, remembering)
        }
        // A stop cancelled the clone, so the run ends like any stopped run.
        Ok(Err(_)) if active.run.stops().hard.is_cancelled() => {
            let prepared = PreparedRun::without_tree(assignment);
            let start = StartFrom::Conversation(conversation);
            let report = active.drive(context, &prepared, start).await;
            (prepared, report, None)
        }
        Ok(Err(refusal)) => {
            let report = run::not_begun(texts::refusal(&refusal));
            (PreparedRun::without_tree(assignment), report, None)
        }
        Err(_panic) => {
            tracing::error!(run = %active.run.id(), "preparing the run panicked");
            let report = run::not_begun(texts::INTERNAL_ERROR.to_owned());
            (PreparedRun::without_tree(assignment), report, None)
        }
    };
    // Before the reply, so that a caller at the limit may send the next request as soon as it has
    // the answer.
    drop(slot);
    active.finish(context, prepared, remembering, report).await;
}

impl ActiveRun {
    /// Replaces the request's text if its author changed it before now, when the model reads it.
    fn with_edit(
        &self,
        mut conversation: Vec<Turn>,
        source: &Source<'_>,
        has_text: bool,
    ) -> Vec<Turn> {
        let edited = self.thread.mailbox().read_request();
        let text = edited.filter(|text| *text != source.parsed.directives.text);
        let (Some(text), Some(request)) = (text, conversation.last_mut()) else {
            return conversation;
        };
        let origin = source.message.source.clone();
        self.run
            .publish(EventBody::input(&text, Vec::new(), origin));
        self.run
            .publish(EventBody::note(NoteKind::FollowUp, REQUEST_EDITED));
        request
            .parts
            .splice(..usize::from(has_text), [Part::text(text)]);
        conversation
    }
}

/// Publishes the first events: the request's span, the stages before the run, input, and context.
/// `run_meta` follows once the working tree is open (`prepare`).
fn publish_head(
    context: &RunContext,
    run: &RunHandle,
    spans: &Spans,
    request: &Request,
    parsed: &ParsedRequest,
    stages: &Stages,
) -> Span {
    let root = spans.start(run, None, "request", request.message.received_at);
    stages.publish(run, spans, &root);
    let source = request.message.source.clone();
    let files = attached(&request.message.attachments);
    run.publish(EventBody::input(&parsed.directives.text, files, source));
    if context.settings().include_context {
        for turn in recent(&parsed.history) {
            let speaker = match turn.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            let mut text = format!("{speaker}: {}", turn.text);
            for AttachedFile {
                name,
                media_type,
                bytes,
            } in attached(&turn.attachments)
            {
                let _ = write!(text, "\n[{name}, {media_type}, {bytes} bytes]");
            }
            run.publish(EventBody::Context { text });
        }
    }
    root
}

/// Tells the request that the tree differs from the earlier turns' tree.
async fn with_tree_note(
    mut conversation: Vec<Turn>,
    workspace: Option<&dyn Workspace>,
) -> Vec<Turn> {
    let (Some(workspace), Some(request)) = (workspace, conversation.last_mut()) else {
        return conversation;
    };
    let note = match workspace.restored_from() {
        Some(name) => texts::tree_restored(name),
        None if workspace.is_cloned_again() => {
            texts::tree_removed(workspace.head().await.ok().flatten().as_deref())
        }
        None => return conversation,
    };
    request
        .parts
        .push(Part::text(format!("Note of the service: {note}")));
    conversation
}

/// Returns the initial conversation: providers require a user's turn first and no empty text. Newer
/// files have priority over older ones.
fn initial_conversation(
    earlier: &[HistoryTurn],
    request: &str,
    attachments: &[Attachment],
) -> Vec<Turn> {
    let mut used = FileUse::default();
    let request = user_turn(request, used.parts(attachments));
    let newest_first = earlier.iter().rev().map(|turn| match turn.role {
        Role::User => user_turn(&turn.text, used.parts(&turn.attachments)),
        Role::Assistant => Turn::text(Role::Assistant, turn.text.clone()),
    });
    let mut turns: Vec<Turn> = newest_first.filter(|turn| !is_blank(turn)).collect();
    while turns
        .pop_if(|oldest| oldest.role == Role::Assistant)
        .is_some()
    {}
    turns.reverse();
    turns.push(request);
    turns
}

/// Returns a person's turn: the text, then the files.
fn user_turn(text: &str, files: Vec<Part>) -> Turn {
    let mut parts = Vec::with_capacity(files.len() + 1);
    if files.is_empty() || !text.trim().is_empty() {
        parts.push(Part::text(text));
    }
    parts.extend(files);
    Turn {
        role: Role::User,
        parts,
    }
}

fn is_blank(turn: &Turn) -> bool {
    turn.parts
        .iter()
        .all(|part| matches!(part, Part::Text { text, .. } if text.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, text: &str) -> HistoryTurn {
        HistoryTurn {
            role,
            text: text.into(),
            attachments: Vec::new(),
        }
    }

    #[test]
    fn conversation_starts_with_the_user() {
        let earlier = [
            said(Role::Assistant, "hi"),
            said(Role::User, "a"),
            said(Role::Assistant, " "),
        ];
        let turns = initial_conversation(&earlier, "b", &[]);
        assert_eq!(
            turns,
            [Turn::text(Role::User, "a"), Turn::text(Role::User, "b")]
        );
    }
}
