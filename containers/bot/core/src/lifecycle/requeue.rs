//! Unread follow-ups: run as a single turn, rejected after a stop, or forwarded to the new owner.

use std::sync::Arc;

use ars_auth::TokenMap;
use ars_bot_ports::{Channel, ChannelEvent, Choices, IncomingMessage, Notice};
use ars_types::{RunId, RunStatus};

use super::unread::requeue_as_one_turn;
use crate::{
    attachments::restore,
    context::RunContext,
    registry::RunFacts,
    retry::Policy,
    threads::{FollowUp, Note, Sender, SenderFault},
};

/// The run that did not read them.
pub(super) struct EndedRun<'a> {
    pub(super) status: RunStatus,
    pub(super) facts: &'a RunFacts,
    /// The run's channel, which is the thread's.
    pub(super) io: &'a Arc<dyn Channel>,
    /// Tokens that authorize other processes' messages again.
    pub(super) tokens: Option<&'a TokenMap>,
}

impl EndedRun<'_> {
    /// Rejects the follow-ups that cannot run, and returns the others. A stopped run's do not run,
    /// nor do those from an unknown sender or a removed token.
    pub(super) async fn reject(&self, follow_ups: Vec<FollowUp>) -> Vec<FollowUp> {
        let is_stopped = matches!(self.status, RunStatus::StoppedSoft | RunStatus::StoppedHard);
        let mut runnable = Vec::new();
        for follow_up in follow_ups {
            let sender = self.sender_of(&follow_up);
            if !is_stopped && sender.is_ok() {
                runnable.push(follow_up);
                continue;
            }
            let text = follow_up.note.quoted();
            let (io, notice) = match (follow_up.sender, sender) {
                (Some(sender), _) => (sender.io, Notice::Stopped),
                (None, _) if is_stopped => (Arc::clone(self.io), Notice::StoppedUnread { text }),
                (None, Err(SenderFault::TokenRemoved)) => {
                    tracing::warn!(user = %follow_up.note.user_id, "follow-up dropped: its token is no longer configured");
                    (Arc::clone(self.io), Notice::TokenRemoved { text })
                }
                (None, _) => (Arc::clone(self.io), Notice::TooLate { text }),
            };
            if let Err(error) = io.send(ChannelEvent::Notice(notice)).await {
                tracing::warn!(error = %error, "sender of an unread follow-up not notified");
            }
        }
        runnable
    }

    /// Queues these follow-ups as a single turn. A follow-up from another process runs in the
    /// sender's name, as the inbox holds it, and is answered on the run's channel.
    pub(super) async fn dispatch(&self, context: &RunContext, follow_ups: &[FollowUp]) {
        let mut senders = Vec::with_capacity(follow_ups.len());
        for follow_up in follow_ups {
            let Ok(mut sender) = self.sender_of(follow_up) else {
                continue;
            };
            if follow_up.sender.is_none() {
                let (message, files) = (&mut sender.message, &follow_up.note.attachments);
                message.attachments = restore(&*sender.io, &mut message.text, files).await;
            }
            senders.push(sender);
        }
        requeue_as_one_turn(context, &self.facts.agent, senders);
    }

    /// Forwards follow-ups to the process that continues the run.
    /// The ledger has the numbered ones. Where the run is over there too, they become a turn.
    pub(super) async fn forward(
        &self,
        context: &RunContext,
        id: &RunId,
        follow_ups: Vec<FollowUp>,
    ) {
        let Some(live) = context.live() else { return };
        let mut too_late = Vec::new();
        for follow_up in follow_ups
            .into_iter()
            .filter(|follow_up| follow_up.inbox_seq.is_none())
        {
            let message = follow_up.note.message();
            match Policy::CLAIM
                .run(id, || live.ledger().inbox(id, &message))
                .await
            {
                Ok(Some(_)) => {}
                Ok(None) => too_late.push(follow_up),
                Err(error) => {
                    tracing::warn!(run = %id, error = %error, "follow-up not forwarded");
                    let io = follow_up
                        .sender
                        .map_or_else(|| Arc::clone(self.io), |sender| sender.io);
                    let text = follow_up.note.quoted();
                    let notice = Notice::NotRequeued { text };
                    io.inform(ChannelEvent::Notice(notice)).await;
                }
            }
        }
        let runnable = self.reject(too_late).await;
        self.dispatch(context, &runnable).await;
    }

    fn sender_of(&self, follow_up: &FollowUp) -> Result<Sender, SenderFault> {
        follow_up
            .sender
            .clone()
            .map_or_else(|| self.sender_of_note(&follow_up.note), Ok)
    }

    /// Returns the request behind another process's note: to the same agent, in the same thread.
    fn sender_of_note(&self, note: &Note) -> Result<Sender, SenderFault> {
        let message = IncomingMessage {
            actor: note.sender(self.tokens, &self.facts.channel_id)?,
            channel_id: self.facts.channel_id.clone(),
            thread_key: self.facts.thread_key.clone(),
            visibility: self.facts.visibility,
            text: note.text.clone(),
            attachments: Vec::new(),
            received_at: note.received_at,
            choices: Choices::default(),
            source: None,
            idempotency: None,
            is_confirmed: false,
        };
        Ok(Sender {
            message,
            io: Arc::clone(self.io),
        })
    }
}
