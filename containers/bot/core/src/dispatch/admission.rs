//! Thread admission (bot supplement section 13): a message either claims its thread or steers the run that holds it.
//!
//! A steered message is left in the ledger's inbox first, so that the process that resumes the run has it too, and
//! then in the run's mailbox. Who steers a run works through it, so both gates are asked about the run's own agent and
//! repository. Commands never come here: they are answered inline. Not here: how the run reads its
//! follow-ups (`run::driver`), and what becomes of those it did not read (`conclude`).

use std::sync::Arc;

use ars_auth::{Actor, can_run_agent};
use ars_bot_ports::{ChannelIo, IncomingMessage, StoreError};
use ars_types::{RunId, StopMode};
use ars_wire::ledger::{Holder, Phase};
use tokio::time::timeout;

use super::{directives::Directed, plan};
use crate::{
    context::RunContext,
    live::{CLAIM_PATIENCE, Meta},
    retry::Policy,
    threads::{Claim, Closed, FollowUp, Note, Occupant, Sender, Work},
};

/// A message that asks to be let in.
pub(super) struct Applicant<'a> {
    pub(super) message: &'a IncomingMessage,
    pub(super) io: &'a Arc<dyn ChannelIo>,
    /// With the grants of the configuration.
    pub(super) actor: &'a Actor,
    /// The agent it names itself; nothing when it leaves that to the thread or the configuration.
    pub(super) names: Option<&'a str>,
    /// What it says.
    pub(super) directed: &'a Directed,
}

/// The run that holds the thread.
struct Held<'a> {
    agent: &'a str,
    repository: Option<&'a str>,
    git_ref: Option<&'a str>,
    since: i64,
    run: Option<&'a RunId>,
}

impl<'a> Held<'a> {
    fn by(occupant: &'a Occupant) -> Self {
        Self {
            agent: occupant.agent,
            repository: occupant.repository.as_deref(),
            git_ref: occupant.git_ref.as_deref(),
            since: occupant.since,
            run: occupant.run.as_ref(),
        }
    }
}

impl Applicant<'_> {
    /// Steers the run of this process that holds the thread: what its sender is told. Nothing when the thread is free; an
    /// `Err` is a refusal.
    pub(super) async fn steer(&self, context: &RunContext) -> Result<Option<String>, String> {
        let mut copy = None;
        while let Some(occupant) = context.threads().occupant(&self.message.thread_key) {
            let held = Held::by(&occupant);
            self.may_steer(context, &held)?;
            // One for all: the copies of a message are known by their mark.
            let note = copy.get_or_insert_with(|| Note::of(self.message, self.words(context, &held)));
            let inbox_seq = match &occupant.run {
                // Not left there is not lost: the run of this process has it in its mailbox.
                Some(run) => self.leave(context, run, note).await.unwrap_or_default(),
                None => None,
            };
            match occupant.mailbox.put(self.follow_up(note, inbox_seq)) {
                Ok(()) => return Ok(Some(ack(context, &held))),
                // The next owner finds it in the inbox.
                Err(Closed::HandedOff) if inbox_seq.is_some() => return Ok(Some(ack(context, &held))),
                // The run is being put away; the thread is free in a moment.
                Err(Closed::Ended | Closed::HandedOff) => occupant.gone().await,
            }
        }
        Ok(None)
    }

    /// Claims the thread; nothing when another message was faster.
    pub(super) fn claim(&self, context: &RunContext, work: Work<'_>) -> Option<Claim> {
        context.threads().claim(&self.message.thread_key, work, context.clock().now()).ok()
    }

    /// Steers the run of another process that holds the thread, if one does. Asked for messages that this process has no
    /// run for: the claim in the ledger, which tells it of the others, never comes for them.
    pub(super) async fn steer_any_elsewhere(&self, context: &RunContext) -> Option<Result<String, String>> {
        let asked = timeout(CLAIM_PATIENCE, context.live()?.ledger().live()).await;
        let rows = match asked {
            Ok(Ok(rows)) => rows,
            Ok(Err(error)) => {
                tracing::warn!(error = %error, "live runs not known");
                return None;
            }
            Err(_) => {
                tracing::warn!("live runs not known in time");
                return None;
            }
        };
        let row = rows.into_iter().find(|row| row.thread_key == self.message.thread_key.as_str())?;
        // A run of this process that is over but whose end the ledger has not taken in: nobody reads its inbox.
        if context.registry().get(&row.run_id).is_some() {
            return None;
        }
        let holder = Holder { run_id: row.run_id, agent: None, started_at: row.started_at };
        self.steer_elsewhere(context, &holder).await
    }

    /// Steers a run that another process drives; `None` when it has just ended.
    pub(super) async fn steer_elsewhere(
        &self,
        context: &RunContext,
        holder: &Holder,
    ) -> Option<Result<String, String>> {
        let meta = match facts_of(context, &holder.run_id).await {
            Ok(Some(meta)) => meta,
            Ok(None) => return None,
            Err(refusal) => return Some(Err(refusal)),
        };
        let held = Held {
            agent: &meta.agent,
            repository: meta.repo.as_deref(),
            git_ref: meta.git_ref.as_deref(),
            since: holder.started_at.rounded(),
            run: Some(&holder.run_id),
        };
        if let Err(refusal) = self.may_steer(context, &held) {
            return Some(Err(refusal));
        }
        match self.leave(context, &holder.run_id, &Note::of(self.message, self.words(context, &held))).await {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(_) => {
                return Some(Err(format!(
                    "⏳ The {} agent works in this thread in another process, and whether it was told this is not \
                     known. Send it again in a moment.",
                    held.agent
                )));
            }
        }
        if is_ending(context, &holder.run_id).await {
            return Some(Err(format!(
                "⏳ The {} agent is just ending its work in this thread and did not read this. Send it again in a \
                 moment.",
                held.agent
            )));
        }
        Some(Ok(ack(context, &held)))
    }

    /// What the run is told. It keeps its repository and its ref: words that name others are its model's to answer, or
    /// nobody would know of them.
    fn words(&self, context: &RunContext, held: &Held<'_>) -> &str {
        let Directed { text, placed, choices } = self.directed;
        let is_held = |named: &String| {
            plan::place(named, self.actor, context.settings())
                .is_some_and(|place| held.repository == Some(place.name.as_str()))
        };
        let names_another = choices.repository.as_ref().is_some_and(|named| !is_held(named))
            || choices.git_ref.as_ref().is_some_and(|named| held.git_ref != Some(named.as_str()));
        if names_another { placed } else { text }
    }

    fn may_steer(&self, context: &RunContext, held: &Held<'_>) -> Result<(), String> {
        let agent = held.agent;
        if can_run_agent(self.actor, &context.settings().restrictions, agent).is_err() {
            return Err(format!(
                "⛔ Sorry, you may not run the {agent} agent, which is at work in this thread."
            ));
        }
        if let Some(repository) = held.repository {
            plan::may_use(self.actor, context.settings(), repository).map_err(|refused| {
                format!("⛔ Sorry, {refused} The {agent} agent is at work on it in this thread.")
            })?;
        }
        if self.names.is_some_and(|named| named != agent) {
            let (seconds, link) = (seconds_since(context, held.since), link(context, held.run));
            return Err(format!(
                "⏳ The {agent} agent has been working in this thread for {seconds} s{link}. Ask another agent when \
                 it has finished, or in another thread."
            ));
        }
        Ok(())
    }

    /// Leaves the message in the ledger's inbox of a run: its number there, or nothing when the run is not live. Tried
    /// again where the answer may be lost: copies are known by their mark.
    async fn leave(&self, context: &RunContext, run: &RunId, note: &Note) -> Result<Option<u64>, StoreError> {
        let Some(live) = context.live() else { return Ok(None) };
        let message = note.message();
        let left = Policy::STEP.run(run, || live.ledger().inbox(run, &message)).await;
        left.inspect_err(|error| {
            tracing::warn!(run = %run, error = %error, "follow-up not left in the ledger");
        })
    }

    fn follow_up(&self, note: &Note, inbox_seq: Option<u64>) -> FollowUp {
        let sender = Sender { message: self.message.clone(), io: Arc::clone(self.io) };
        FollowUp { note: note.clone(), inbox_seq, sender: Some(sender) }
    }
}

/// What the ledger knows of a run of another process; nothing of one that has ended. An `Err` is what the sender is
/// told when that cannot be known: who may not be asked about is not steered.
async fn facts_of(context: &RunContext, run: &RunId) -> Result<Option<Meta>, String> {
    let unknown = || {
        "⏳ Another process works in this thread, and it cannot be told what on. Ask again in a moment, or in another \
         thread."
            .to_owned()
    };
    let live = context.live().ok_or_else(unknown)?;
    let rows = live.ledger().live().await.map_err(|error| {
        tracing::warn!(run = %run, error = %error, "the holder of a thread is not known");
        unknown()
    })?;
    let Some(row) = rows.iter().find(|row| row.run_id == *run) else { return Ok(None) };
    Meta::of_row(&row.meta).map(Some).map_err(|error| {
        tracing::warn!(run = %run, error = %error, "the row of a live run cannot be read");
        unknown()
    })
}

/// Whether a run of another process may have looked into its inbox for the last time, which it does after it took the
/// right to reply.
async fn is_ending(context: &RunContext, run: &RunId) -> bool {
    let Some(live) = context.live() else { return false };
    match live.ledger().live().await {
        Ok(rows) => rows
            .iter()
            .find(|row| row.run_id == *run)
            .is_none_or(|row| row.phase == Phase::Finishing || row.stop == Some(StopMode::Hard)),
        // It is in the inbox; that is all that is known.
        Err(_) => false,
    }
}

fn ack(context: &RunContext, held: &Held<'_>) -> String {
    let (seconds, link) = (seconds_since(context, held.since), link(context, held.run));
    format!("↪️ Passed on to the {} agent, {seconds} s into its work{link}", held.agent)
}

fn seconds_since(context: &RunContext, since: i64) -> i64 {
    context.clock().now().saturating_sub(since).max(0) / 1000
}

fn link(context: &RunContext, run: Option<&RunId>) -> String {
    run.map_or_else(String::new, |run| format!(": {}", context.settings().run_url(run)))
}
