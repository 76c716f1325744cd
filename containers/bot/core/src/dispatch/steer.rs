//! Steering: a message becomes a follow-up for the run that owns the thread.
//!
//! It is queued in the ledger's inbox first, so that a resuming process receives it too, and then
//! in the run's mailbox. Steering uses the run's permissions, so both gates are checked against the
//! run's own agent and repository. Not here: how the run reads follow-ups (`run::driver`), and what
//! happens to unread ones (`lifecycle`).

use std::sync::Arc;

use ars_auth::{Actor, can_run_agent};
use ars_bot_ports::{
    Choices, IncomingMessage, LiveRunFacts, Notice, Overload, Refusal, StoreError, StoreErrorKind,
    ThreadRefusal,
};
use ars_types::{RunId, StopMode, UnixMillis};
use ars_wire::ledger::{Holder, MAX_UNREAD, Phase};
use tokio::time::timeout;

use super::{amend, authorize::AuthorizedRequest};
use crate::{
    context::RunContext,
    gates,
    live::{CLAIM_TIMEOUT, Meta},
    request::{ParsedDirectives, Request},
    retry::Policy,
    threads::{Closed, FollowUp, Note, Occupant, Sender},
};

/// A message that may steer the thread's run.
pub(crate) struct Steering<'a> {
    request: &'a Request,
    actor: &'a Actor,
    named_agent: Option<&'a str>,
    text: &'a str,
    /// The text including `repo` and `ref` directives.
    text_with_place: &'a str,
    choices: &'a Choices,
}

/// The run that owns the thread.
struct OwnerRun<'a> {
    agent: &'a str,
    repository: Option<&'a str>,
    git_ref: Option<&'a str>,
    since: UnixMillis,
    run: Option<&'a RunId>,
}

impl<'a> OwnerRun<'a> {
    fn from_occupant(occupant: &'a Occupant) -> Self {
        Self {
            agent: occupant.agent,
            repository: occupant.repository.as_deref(),
            git_ref: occupant.git_ref.as_deref(),
            since: occupant.since,
            run: occupant.run.as_ref(),
        }
    }

    fn facts(&self, context: &RunContext) -> LiveRunFacts {
        LiveRunFacts {
            agent: self.agent.to_owned(),
            seconds: context.clock().now().saturating_sub(self.since).max(0) / 1000,
            url: self.run.map(|run| context.settings().run_url(run)),
        }
    }
}

impl<'a> Steering<'a> {
    /// Steers with an authorized request. It borrows, because most messages steer no run.
    pub(super) fn for_request(authorized: &'a AuthorizedRequest<'_>) -> Self {
        let AuthorizedRequest {
            request,
            parsed,
            resolved,
        } = authorized;
        let ParsedDirectives {
            text,
            text_with_place,
            choices,
        } = &parsed.directives;
        Self {
            request,
            actor: &resolved.actor,
            named_agent: parsed.named_agent.as_deref(),
            text,
            text_with_place,
            choices,
        }
    }

    /// Steers with a message that the model gets exactly as written.
    pub(crate) fn verbatim(request: &'a Request) -> Self {
        let text = &request.message.text;
        let IncomingMessage { actor, choices, .. } = &request.message;
        Self {
            request,
            actor,
            named_agent: None,
            text,
            text_with_place: text,
            choices,
        }
    }

    /// Steers this process's run that owns the thread. Returns `None` when the thread is free.
    pub(crate) async fn steer_local(
        &self,
        context: &RunContext,
    ) -> Result<Option<Notice>, Refusal> {
        let mut copy = None;
        while let Some(occupant) = context.threads().occupant(&self.request.message.thread_key) {
            let owner = OwnerRun::from_occupant(&occupant);
            if let Err(refusal) = self.authorize(context, &owner) {
                if !occupant.mailbox.is_closed() {
                    return Err(refusal.into());
                }
                // The run has answered, and the thread is free in a moment, unless the store is down.
                match timeout(CLAIM_TIMEOUT, occupant.released()).await {
                    Ok(()) => continue,
                    Err(_) => return Err(refusal.into()),
                }
            }
            // All attempts share a note: message copies are recognized by delivery id.
            let note = copy.get_or_insert_with(|| {
                Note::from_message(&self.request.message, self.text(context, &owner))
            });
            let _room = occupant.mailbox.reserve(
                &note.text,
                &self.request.message.attachments,
                &context.settings().load,
            )?;
            let inbox_seq = match &occupant.run {
                // A failure loses nothing, because this process's run reads the mailbox.
                Some(run) => self.queue(context, run, note).await.unwrap_or_default(),
                None => None,
            };
            match occupant.mailbox.put(self.follow_up(note, inbox_seq)) {
                Ok(()) => {
                    amend::catch_up(context, note.key.as_ref()).await;
                    return Ok(Some(Notice::Steered(owner.facts(context))));
                }
                // The next owner reads the inbox.
                Err(Closed::HandedOff) if inbox_seq.is_some() => {
                    return Ok(Some(Notice::Steered(owner.facts(context))));
                }
                // The run is closing, and the thread is free in a moment.
                Err(Closed::Ended | Closed::HandedOff) => occupant.released().await,
            }
        }
        Ok(None)
    }

    /// Steers another process's run that owns the thread. Returns `None` without such a run, or
    /// when the ledger does not answer. For messages without a plan, because the ledger's claim
    /// reports the owner to all others.
    pub(crate) async fn steer_any_remote(
        &self,
        context: &RunContext,
    ) -> Result<Option<Notice>, Refusal> {
        let Some(live) = context.live() else {
            return Ok(None);
        };
        let thread = self.request.message.thread_key.as_str();
        let row = match timeout(CLAIM_TIMEOUT, live.ledger().live_of_thread(thread)).await {
            Ok(Ok(row)) => row,
            Ok(Err(error)) => {
                tracing::warn!(error = %error, "live runs not known");
                return Ok(None);
            }
            Err(_) => {
                tracing::warn!("live runs not known in time");
                return Ok(None);
            }
        };
        let Some(row) = row else { return Ok(None) };
        // This process's run that ended, with the final record still pending. It no longer reads
        // the inbox.
        if context.registry().get(&row.run_id).is_some() {
            return Ok(None);
        }
        let holder = Holder {
            run_id: row.run_id,
            agent: None,
            started_at: row.started_at,
        };
        self.steer_remote(context, &holder).await
    }

    /// Steers another process's run. Returns `None` when it has just ended.
    pub(super) async fn steer_remote(
        &self,
        context: &RunContext,
        holder: &Holder,
    ) -> Result<Option<Notice>, Refusal> {
        let thread = self.request.message.thread_key.as_str();
        let Some(meta) = meta_of(context, thread, &holder.run_id).await? else {
            return Ok(None);
        };
        let owner = OwnerRun {
            agent: &meta.agent,
            repository: meta.repo.as_deref(),
            git_ref: meta.git_ref.as_deref(),
            since: holder.started_at.rounded(),
            run: Some(&holder.run_id),
        };
        self.authorize(context, &owner)?;
        let note = Note::from_message(&self.request.message, self.text(context, &owner));
        let agent = || owner.agent.to_owned();
        match self.queue(context, &holder.run_id, &note).await {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(None),
            Err(error) if error.kind == StoreErrorKind::Refused => {
                return Err(Overload::FollowUps { limit: MAX_UNREAD }.into());
            }
            Err(_) => return Err(ThreadRefusal::FollowUpUnconfirmed { agent: agent() }.into()),
        }
        if is_ending(context, thread, &holder.run_id).await {
            return Err(ThreadRefusal::RunEnding { agent: agent() }.into());
        }
        Ok(Some(Notice::Steered(owner.facts(context))))
    }

    /// Returns the text for the run. A run keeps repository and ref, so directives that name others
    /// stay in the text for the model to answer.
    fn text(&self, context: &RunContext, owner: &OwnerRun<'_>) -> &str {
        let choices = self.choices;
        let is_owners = |named: &String| {
            gates::find(named, self.actor, context.settings())
                .is_some_and(|place| owner.repository == Some(place.name.as_str()))
        };
        let names_another = choices
            .repository
            .as_ref()
            .is_some_and(|named| !is_owners(named))
            || choices
                .git_ref
                .as_ref()
                .is_some_and(|named| owner.git_ref != Some(named.as_str()));
        if names_another {
            self.text_with_place
        } else {
            self.text
        }
    }

    fn authorize(&self, context: &RunContext, owner: &OwnerRun<'_>) -> Result<(), ThreadRefusal> {
        let (settings, agent) = (context.settings(), || owner.agent.to_owned());
        can_run_agent(self.actor, &settings.restrictions, owner.agent)
            .map_err(|_| ThreadRefusal::AgentForbidden { agent: agent() })?;
        if let Some(repository) = owner.repository {
            gates::authorize_name(self.actor, settings, repository)
                .map_err(|_| ThreadRefusal::RepositoryForbidden { agent: agent() })?;
        }
        if self.named_agent.is_some_and(|named| named != owner.agent) {
            return Err(ThreadRefusal::OtherAgent(owner.facts(context)));
        }
        Ok(())
    }

    /// Queues the message in a run's ledger inbox. Returns the number there, or `None` when the run
    /// is not live. Retried when the response may be lost, because copies are recognized by
    /// delivery id.
    async fn queue(
        &self,
        context: &RunContext,
        run: &RunId,
        note: &Note,
    ) -> Result<Option<u64>, StoreError> {
        let Some(live) = context.live() else {
            return Ok(None);
        };
        let message = note.message();
        let queued = Policy::STEP
            .run(run, || live.ledger().inbox(run, &message))
            .await;
        queued.inspect_err(|error| {
            tracing::warn!(run = %run, error = %error, "follow-up not queued in the ledger");
        })
    }

    fn follow_up(&self, note: &Note, inbox_seq: Option<u64>) -> FollowUp {
        let Request { message, io, .. } = self.request;
        let sender = Sender {
            message: message.clone(),
            io: Arc::clone(io),
        };
        FollowUp {
            note: note.clone(),
            inbox_seq,
            sender: Some(sender),
        }
    }
}

/// Returns the ledger's description of another process's run, or `None` if it has ended.
///
/// # Errors
/// [`ThreadRefusal::OwnerUnknown`] when it cannot be read, because a run with an unknown agent is
/// never steered.
async fn meta_of(
    context: &RunContext,
    thread: &str,
    run: &RunId,
) -> Result<Option<Meta>, ThreadRefusal> {
    let live = context.live().ok_or(ThreadRefusal::OwnerUnknown)?;
    let row = live
        .ledger()
        .live_of_thread(thread)
        .await
        .map_err(|error| {
            tracing::warn!(run = %run, error = %error, "owner of a thread not known");
            ThreadRefusal::OwnerUnknown
        })?;
    let Some(row) = row.filter(|row| row.run_id == *run) else {
        return Ok(None);
    };
    Meta::of_row(&row.meta).map(Some).map_err(|error| {
        tracing::warn!(run = %run, error = %error, "row of a live run cannot be read");
        ThreadRefusal::OwnerUnknown
    })
}

/// Returns whether another process's run may have read the inbox for the last time. It does so
/// after it acquired the reply permit.
async fn is_ending(context: &RunContext, thread: &str, run: &RunId) -> bool {
    let Some(live) = context.live() else {
        return false;
    };
    match live.ledger().live_of_thread(thread).await {
        Ok(row) => row
            .filter(|row| row.run_id == *run)
            .is_none_or(|row| row.phase == Phase::Finishing || row.stop == Some(StopMode::Hard)),
        // The message is in the inbox, and no more is known.
        Err(_) => false,
    }
}
