//! Follow-ups that a run did not read (bot supplement section 13): run as one fresh turn when the run ended by itself,
//! handed back to their senders when it was stopped.

use ars_types::{RunId, RunStatus};

use crate::{
    service::Core,
    threads::{FollowUp, Note, Sender},
};

/// What is to be done with them.
pub(crate) enum Leftovers {
    /// Nothing.
    None,
    /// One fresh turn, under the last sender.
    Turn(Box<Sender>),
    /// Tell each sender that it was not run.
    Tell(Vec<Sender>),
}

impl Leftovers {
    /// Decides by how the run ended.
    pub(crate) fn of(status: RunStatus, unread: impl Iterator<Item = FollowUp>) -> Self {
        let mut senders = Vec::new();
        for follow_up in unread {
            match follow_up.sender {
                Some(sender) => senders.push(sender),
                // It came through another process, which alone knows what its sender may do.
                None => {
                    tracing::warn!(user = %follow_up.note.user_id, "a follow-up came too late for its run");
                }
            }
        }
        if matches!(status, RunStatus::StoppedSoft | RunStatus::StoppedHard) {
            return if senders.is_empty() { Self::None } else { Self::Tell(senders) };
        }
        let texts: Vec<_> = senders.iter().map(|sender| sender.message.text.clone()).collect();
        match senders.pop() {
            Some(mut last) => {
                last.message.text = texts.join("\n\n");
                Self::Turn(Box::new(last))
            }
            None => Self::None,
        }
    }
}

/// Does it. The thread is free by now.
pub(crate) async fn settle(core: &Core, leftovers: Leftovers) {
    match leftovers {
        Leftovers::None => {}
        Leftovers::Turn(sender) => {
            let (core, Sender { message, io }) = (core.clone(), *sender);
            // Counted from here on, because the task may begin later. Spawned, because a dispatch may end in another
            // one any number of times.
            let in_flight = core.enter();
            tokio::spawn(async move {
                core.dispatch(message, io).await;
                drop(in_flight);
            });
        }
        Leftovers::Tell(senders) => {
            for sender in senders {
                let words = "⏹️ The run was stopped before it read this; it was not run.";
                if let Err(error) = sender.io.reply(words).await {
                    tracing::warn!(error = %error, "sender of an unread follow-up not told");
                }
            }
        }
    }
}

/// Leaves a follow-up in the inbox of a run that another process goes on with.
pub(crate) async fn leave(core: &Core, run: &RunId, note: &Note) {
    let Some(live) = core.live() else { return };
    match live.ledger().inbox(run, &note.message()).await {
        Ok(Some(_)) => {}
        Ok(None) => tracing::warn!(run = %run, "a follow-up came too late for its run"),
        Err(error) => {
            tracing::warn!(run = %run, error = %error, "a follow-up was lost with the run's handoff");
        }
    }
}
