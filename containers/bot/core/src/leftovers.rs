//! Follow-ups that a run did not read (bot supplement section 13): run as one fresh turn when the run ended by itself,
//! handed back to their senders when it was stopped.

use std::sync::Arc;

use ars_types::{RunId, RunStatus};

use crate::{
    ports::ChannelIo,
    service::Core,
    threads::{FollowUp, Note, Sender},
};

/// Said to the sender of a follow-up whose run was stopped.
const STOPPED: &str = "⏹️ The run was stopped before it read this; it was not run.";
/// Said of one that came through another process, on the run's own channel.
const STOPPED_BEFORE: &str = "⏹️ The run was stopped before it read this message; it was not run:";
/// Said of one that the ledger told of after the run's last step.
const TOO_LATE: &str = "⏳ This message came too late for the run, and was not run. Send it again:";

/// What is to be done with them.
pub(crate) struct Leftovers {
    /// One fresh turn, under the last sender.
    turn: Option<Box<Sender>>,
    /// What is said of those that are not run, and where.
    handed_back: Vec<(Arc<dyn ChannelIo>, String)>,
}

impl Leftovers {
    /// Decides by how the run ended. Of a follow-up that came through another process the sender is not known here, nor
    /// what that sender may do: it is handed back on the run's `own` channel, which is its thread's.
    pub(crate) fn of(
        status: RunStatus,
        unread: impl Iterator<Item = FollowUp>,
        own: &Arc<dyn ChannelIo>,
    ) -> Self {
        let is_stopped = matches!(status, RunStatus::StoppedSoft | RunStatus::StoppedHard);
        let (mut senders, mut handed_back) = (Vec::new(), Vec::new());
        for follow_up in unread {
            match follow_up.sender {
                Some(sender) if is_stopped => handed_back.push((sender.io, STOPPED.to_owned())),
                Some(sender) => senders.push(sender),
                None => {
                    let lead = if is_stopped { STOPPED_BEFORE } else { TOO_LATE };
                    handed_back.push((Arc::clone(own), quoting(lead, &follow_up.note)));
                }
            }
        }
        let texts: Vec<_> = senders.iter().map(|sender| sender.message.text.clone()).collect();
        let turn = senders.pop().map(|mut last| {
            last.message.text = texts.join("\n\n");
            Box::new(last)
        });
        Self { turn, handed_back }
    }

    /// Tells of what is not run.
    pub(crate) async fn hand_back(&mut self) {
        for (io, words) in self.handed_back.drain(..) {
            if let Err(error) = io.reply(&words).await {
                tracing::warn!(error = %error, "sender of an unread follow-up not told");
            }
        }
    }

    /// Runs the rest. The thread is free by now.
    pub(crate) fn run(self, core: &Core) {
        let Some(sender) = self.turn else { return };
        let (core, Sender { message, io }) = (core.clone(), *sender);
        // Counted from here on, because the task may begin later. Spawned, because a dispatch may end in another one
        // any number of times.
        let in_flight = core.enter();
        tokio::spawn(async move {
            core.dispatch(message, io).await;
            drop(in_flight);
        });
    }
}

fn quoting(lead: &str, note: &Note) -> String {
    format!("{lead}\n\n> {}", note.text.replace('\n', "\n> "))
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
