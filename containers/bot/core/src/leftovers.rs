//! Follow-ups that a run did not read (bot supplement section 13): run as one fresh turn when the run ended by itself,
//! handed back to their senders when it was stopped, left to the process that goes on with it when it is not over.

use std::sync::Arc;

use ars_bot_ports::{ChannelIo, Choices, IncomingMessage, Notice};
use ars_types::{RunId, RunStatus};

use crate::{
    context::RunContext,
    registry::RunFacts,
    retry::Policy,
    threads::{Claim, Closed, FollowUp, Note, Sender},
};

/// What is to be done with them.
pub(crate) struct Leftovers {
    /// One fresh turn, under the last sender.
    turn: Option<Box<Sender>>,
    /// What is said of those that are not run, and where.
    handed_back: Vec<(Arc<dyn ChannelIo>, Notice)>,
}

/// The run that did not read them.
pub(crate) struct Unreader<'a> {
    pub(crate) status: RunStatus,
    pub(crate) facts: &'a RunFacts,
    /// Its own channel, which is its thread's.
    pub(crate) io: &'a Arc<dyn ChannelIo>,
}

impl Leftovers {
    /// Decides by how the run ended. One that came through another process is run in its sender's name, as the inbox
    /// keeps it, with the reply on the run's own channel.
    pub(crate) fn of(run: &Unreader<'_>, unread: impl Iterator<Item = FollowUp>) -> Self {
        let is_stopped = matches!(run.status, RunStatus::StoppedSoft | RunStatus::StoppedHard);
        let (mut senders, mut handed_back) = (Vec::new(), Vec::new());
        for FollowUp { note, sender, .. } in unread {
            let is_of_this_process = sender.is_some();
            match sender.or_else(|| run.sender_of(&note)) {
                Some(sender) if !is_stopped => senders.push(sender),
                Some(sender) if is_of_this_process => handed_back.push((sender.io, Notice::Stopped)),
                _ => {
                    let text = note.text;
                    let notice =
                        if is_stopped { Notice::StoppedUnread { text } } else { Notice::TooLate { text } };
                    handed_back.push((Arc::clone(run.io), notice));
                }
            }
        }
        Self { handed_back, ..Self::of_senders(&run.facts.agent, senders.into_iter()) }
    }

    /// One turn of what these senders said, under the last of them, for the agent that they were told of: what they name
    /// themselves is that one, or they would not have been passed on to it.
    pub(crate) fn of_senders(agent: &str, senders: impl Iterator<Item = Sender>) -> Self {
        let mut senders: Vec<_> = senders.collect();
        let texts: Vec<_> = senders.iter().map(|sender| sender.message.text.clone()).collect();
        let turn = senders.pop().map(|mut last| {
            last.message.text = texts.join("\n\n");
            last.message.choices.agent.get_or_insert_with(|| agent.to_owned());
            Box::new(last)
        });
        Self { turn, handed_back: Vec::new() }
    }

    /// Tells of what is not run.
    pub(crate) async fn hand_back(&mut self) {
        for (io, notice) in self.handed_back.drain(..) {
            if let Err(error) = io.notify(&notice).await {
                tracing::warn!(error = %error, "sender of an unread follow-up not told");
            }
        }
    }

    /// Runs the rest. The thread is free by now, or will be in a moment.
    pub(crate) fn run(self, context: &RunContext) {
        let Some(sender) = self.turn else { return };
        let Sender { message, io } = *sender;
        context.requeue(message, io);
    }
}

impl Unreader<'_> {
    /// The request that a note of another process stands for: to the same agent, in the same thread.
    fn sender_of(&self, note: &Note) -> Option<Sender> {
        let message = IncomingMessage {
            actor: note.sender()?,
            channel_id: self.facts.channel_id.clone(),
            thread_key: self.facts.thread_key.clone(),
            visibility: self.facts.visibility,
            text: note.text.clone(),
            received_at: note.received_at,
            choices: Choices::default(),
            source: None,
        };
        Some(Sender { message, io: Arc::clone(self.io) })
    }
}

/// Releases a thread without a run. Follow-ups that its claim received become a turn of their own.
pub(crate) fn release(context: &RunContext, claim: Claim) {
    let agent = claim.agent();
    let unread = claim.mailbox().close(Closed::Ended).into_iter();
    drop(claim);
    Leftovers::of_senders(agent, unread.filter_map(|follow_up| follow_up.sender)).run(context);
}

/// Leaves what was taken in for a run to the process that goes on with it; where the run is over too, it becomes a turn
/// of its own. What the ledger has is there already.
pub(crate) async fn pass_on(
    context: &RunContext,
    id: &RunId,
    run: &Unreader<'_>,
    taken: impl Iterator<Item = FollowUp>,
) {
    let Some(live) = context.live() else { return };
    let mut too_late = Vec::new();
    for follow_up in taken.filter(|follow_up| follow_up.inbox_seq.is_none()) {
        let message = follow_up.note.message();
        match Policy::CLAIM.run(id, || live.ledger().inbox(id, &message)).await {
            Ok(Some(_)) => {}
            Ok(None) => too_late.push(follow_up),
            Err(error) => {
                tracing::warn!(run = %id, error = %error, "a follow-up could not be passed on");
                let io = follow_up.sender.map_or_else(|| Arc::clone(run.io), |sender| sender.io);
                drop(io.notify(&Notice::NotRequeued { text: follow_up.note.text }).await);
            }
        }
    }
    let mut leftovers = Leftovers::of(run, too_late.into_iter());
    leftovers.hand_back().await;
    leftovers.run(context);
}
