//! Putting a run away that has replied: the follow-ups that nobody read, and the record (bot supplement section 12.1,
//! stage 18).
//!
//! The record takes the run, and its inbox, out of the ledger. So it waits for what the ledger took in for the run, and
//! whoever has the run decides what becomes of that. Not here: the reply (`conclude`), and the attempts (`history`).

use std::{sync::Arc, time::Duration};

use ars_bot_ports::ChannelIo;
use ars_runs::RunRecord;
use ars_types::RunStatus;

use crate::{
    context::RunContext,
    history::{Final, Finished, Provisional},
    leftovers::{self, Leftovers, Unreader},
    live::{Listening, Tracked},
    registry::{RunFacts, RunHandle},
    threads::{Claim, Closed, FollowUp},
};

/// Between two attempts to hear what the ledger took for a run that ended in an outage.
const NEWS_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// For how long its thread is held for that: twice a lease (state-worker supplement section 11).
const NEWS_FOR: Duration = Duration::from_secs(60);

/// A run that has replied.
pub(crate) struct Closing {
    pub(crate) run: RunHandle,
    pub(crate) facts: RunFacts,
    /// How it ended, whatever became of its reply.
    pub(crate) status: RunStatus,
    pub(crate) provisional: Provisional,
    pub(crate) claim: Claim,
    pub(crate) tracked: Option<Tracked>,
    /// Of one that is not tracked.
    pub(crate) listening: Option<Listening>,
    pub(crate) io: Arc<dyn ChannelIo>,
    /// Taken in for it, and not read.
    pub(crate) unread: Vec<FollowUp>,
    /// The ledger has said what it took for the run. Until then the mailbox is open.
    pub(crate) has_heard: bool,
    /// It replied without the ledger's leave.
    pub(crate) is_untold: bool,
}

impl Closing {
    /// Puts the run away; what became of its record.
    pub(crate) async fn close(mut self, context: &RunContext, record: &RunRecord) -> Finished {
        match self.tracked.take() {
            Some(tracked) if !self.has_heard => {
                if late_news(context, &tracked, self.is_untold).await {
                    self.unread.extend(self.claim.mailbox().close(Closed::Ended));
                    self.tracked = Some(tracked);
                    self.close_heard(context, record).await
                } else {
                    self.close_unheard(context, record, tracked).await
                }
            }
            tracked => {
                self.tracked = tracked;
                self.close_heard(context, record).await
            }
        }
    }

    /// Everything that was taken in for the run is known.
    async fn close_heard(self, context: &RunContext, record: &RunRecord) -> Finished {
        let is_lost = self.tracked.as_ref().is_some_and(Tracked::is_lost)
            || self.listening.as_ref().is_some_and(Listening::is_lost);
        let Self { run, facts, status, provisional, claim, tracked, listening, io, unread, .. } = self;
        let reader = Unreader { status, facts: &facts, io: &io };
        // Before the record: whoever takes the run over if this process dies finds them unread, and says so again.
        let leftovers = if is_lost {
            // Its inbox went with it.
            leftovers::pass_on(context, run.id(), &reader, unread.into_iter()).await;
            None
        } else {
            let mut leftovers = Leftovers::of(&reader, unread.into_iter());
            leftovers.hand_back().await;
            Some(leftovers)
        };
        let due = Final { run: &run, record, live: context.live(), unheard: None };
        let finished = context.history().finish(provisional, &due).await;
        drop((claim, tracked, listening));
        if let Some(leftovers) = leftovers {
            leftovers.run(context);
        }
        made_up(context, finished, &due, self.is_untold).await
    }

    /// The ledger has not answered, so it may be another process that has the run, and its inbox: of that nothing is done
    /// before it is known whose record counts. The thread does not wait for it.
    async fn close_unheard(self, context: &RunContext, record: &RunRecord, tracked: Tracked) -> Finished {
        let Self { run, facts, status, provisional, claim, io, mut unread, .. } = self;
        let reader = Unreader { status, facts: &facts, io: &io };
        unread.extend(claim.mailbox().take());
        let (in_inbox, of_this_process): (Vec<_>, Vec<_>) =
            unread.into_iter().partition(|follow_up| follow_up.inbox_seq.is_some());
        let mut leftovers = Leftovers::of(&reader, of_this_process.into_iter());
        leftovers.hand_back().await;
        let due = Final { run: &run, record, live: context.live(), unheard: Some(&tracked) };
        let finished = context.history().finish(provisional, &due).await;
        let mailbox = claim.release();
        leftovers.run(context);
        let finished = made_up(context, finished, &due, self.is_untold).await;
        let in_inbox = in_inbox.into_iter().chain(mailbox.close(Closed::Ended));
        if finished == Finished::Written {
            let mut leftovers = Leftovers::of(&reader, in_inbox);
            leftovers.hand_back().await;
            leftovers.run(context);
        } else {
            // Whoever ends the run finds the rest in its inbox.
            leftovers::pass_on(context, run.id(), &reader, in_inbox).await;
        }
        finished
    }
}

/// Waits until the ledger has said what it took for a run that ended in an outage; whether it did. A drain waits as for
/// a lost record.
async fn late_news(context: &RunContext, tracked: &Tracked, is_untold: bool) -> bool {
    let heard = async {
        while !tracked.last_news().await {
            tokio::time::sleep(NEWS_AGAIN_AFTER).await;
        }
    };
    let heard = tokio::time::timeout(NEWS_FOR, heard);
    tokio::select! {
        heard = heard => heard.is_ok(),
        () = context.hand_off().cancelled(), if !is_untold => false,
    }
}

/// Writes a record that was lost once a store answers. A drain waits for none that is down, because the next process
/// finds the run in the ledger; but of a reply that was given without the ledger's leave only this process knows, and
/// the next one would give it again.
async fn made_up(context: &RunContext, finished: Finished, due: &Final<'_>, is_untold: bool) -> Finished {
    if finished != Finished::Lost || due.live.is_none() {
        return finished;
    }
    let made_up = context.history().make_up(due);
    if is_untold {
        return made_up.await;
    }
    tokio::select! {
        finished = made_up => finished,
        () = context.hand_off().cancelled() => Finished::Lost,
    }
}
