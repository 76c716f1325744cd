//! From the end of the loop to the end of the run (bot supplement section 12.1, stages 16 to 18).
//!
//! The order: the ledger's leave to reply, the answer, the finish, the channel's receipt, the reply, the seal, the
//! record. The thread is held until the record has taken the live run's place, so that no message can reach a run that
//! nobody reads for any more. Not here: resuming (`resume`), which ends here too.

use std::{sync::Arc, time::Duration};

use ars_agent::{Ending, Turn};
use ars_bot_ports::{ChannelIo, metrics, trace};
use ars_bot_tools::{agents, review};
use ars_events::EventBody;
use ars_types::RunStatus;

use crate::{
    closing::Closing,
    context::RunContext,
    history::{self, Finished, Provisional, RunEnd},
    in_flight::InFlight,
    leftovers::{self, Unreader},
    live::{Gate, Listening, Tracked},
    memory::Remembering,
    registry::RunHandle,
    run::{Assignment, Driven, Driver, OpenSpan, Outcome, Resumption, Span, Spans},
    threads::{Claim, Closed, FollowUp},
};

/// A run that is driven, with everything its end needs.
pub(crate) struct Conclusion {
    pub(crate) run: RunHandle,
    pub(crate) spans: Spans,
    pub(crate) request: Span,
    pub(crate) claim: Claim,
    pub(crate) tracked: Option<Tracked>,
    /// Of one that is not tracked.
    pub(crate) listening: Option<Listening>,
    pub(crate) provisional: Provisional,
    pub(crate) io: Arc<dyn ChannelIo>,
    pub(crate) in_flight: InFlight,
}

/// Where a driver begins.
pub(crate) enum Beginning {
    /// At this conversation.
    Start(Vec<Turn>),
    /// Where another process left the run.
    Stored(Box<Resumption>),
}

impl Conclusion {
    /// Drives the run to its end, from its first model call or from where another process left it.
    pub(crate) async fn drive(
        &self,
        context: &RunContext,
        assignment: &Assignment,
        from: Beginning,
    ) -> Driven {
        let root = self.spans.start(&self.run, Some(self.request.id()), "run.agent", context.clock().now());
        let driver = Driver {
            run: &self.run,
            spans: &self.spans,
            root: root.id().to_owned(),
            clock: context.clock(),
            assignment,
            mailbox: self.claim.mailbox(),
            tracked: self.tracked.as_ref(),
            hand_off: context.hand_off(),
            io: &*self.io,
            redactor: &context.deps().redactor,
        };
        let is_read = matches!(&from, Beginning::Stored(resumption) if resumption.has_reading_diff);
        let driven = async {
            match from {
                Beginning::Start(conversation) => driver.run(conversation).await,
                Beginning::Stored(resumption) => driver.go_on(*resumption).await,
            }
        };
        let driven = trace::within(self.run.id(), root.id(), driven);
        let reading =
            async { if is_read { None } else { self.reading_diff(context, assignment, root.id()).await } };
        let mut waiting = None;
        let (mut driven, artifact) = review::concurrently(driven, reading, |driven| {
            let wants = matches!(&driven.outcome, Outcome::Ended(end) if end.answer.is_some());
            waiting = wants.then(|| self.part(context, root.id(), "run.reading_diff_join"));
            wants
        })
        .await;
        if let Some(waiting) = waiting {
            waiting.end(None, None);
        }
        if let Outcome::Ended(ending) = &mut driven.outcome {
            if let Some(artifact) = artifact {
                self.run.publish(artifact);
            }
            if let (Some(slot), Some(answer)) = (&assignment.verdict, &mut ending.answer) {
                let looking = self.part(context, root.id(), "run.observe_workspace");
                let head = review::observed_head(assignment.workspace.as_deref()).await;
                looking.end(head.is_none().then(|| "unknown".to_owned()), None);
                let (status, cut_short) = (ending.status, ending.cut_short);
                let end = review::End { status, cut_short, head: head.as_deref() };
                *answer = review::prepend_status_line(slot.current().as_ref(), end, answer);
            }
        }
        let failed = matches!(&driven.outcome, Outcome::Ended(ending) if ending.status == RunStatus::Failed);
        self.spans.end(&self.run, root, failed.then(|| "failed".to_owned()), None, context.clock().now());
        driven
    }

    /// What people read beside a review; made while the review goes on.
    async fn reading_diff(
        &self,
        context: &RunContext,
        assignment: &Assignment,
        root: &str,
    ) -> Option<EventBody> {
        assignment.verdict.as_ref()?;
        let workspace = assignment.workspace.as_deref()?;
        let reading = self.part(context, root, "run.reading_diff");
        let diff =
            review::reading_diff(workspace, None, &context.deps().redactor, &self.run.stops().hard).await;
        reading.end(None, None);
        diff
    }

    /// A span of the request, beside its run.
    pub(crate) fn stage<'a>(&'a self, context: &'a RunContext, name: &'static str) -> OpenSpan<'a> {
        self.part(context, self.request.id(), name)
    }

    fn part<'a>(&'a self, context: &'a RunContext, parent: &str, name: &'static str) -> OpenSpan<'a> {
        self.spans.open(&self.run, Some(parent), name, context.clock())
    }

    /// Ends the run as its driver left it.
    ///
    /// `memory` is the run's part in it, if it is to leave something there.
    pub(crate) async fn conclude(
        self,
        context: &RunContext,
        mut assignment: Assignment,
        memory: Option<Remembering>,
        driven: Driven,
    ) {
        let ending = match driven.outcome {
            Outcome::Ended(ending) => ending,
            Outcome::HandedOff => return self.hand_off(context).await,
            Outcome::Lost => return self.give_up(context, driven.unread).await,
        };
        let leave = self.leave(&ending).await;
        if leave == Gate::Closed {
            return self.give_up(context, driven.unread).await;
        }
        if let Some(answer) = &ending.answer {
            self.run.publish(EventBody::Answer { text: answer.clone() });
        }
        self.run.set_cost(driven.cost);
        self.run.finish(ending.status);
        if let Some(hold) = assignment.hold.take() {
            hold.settle(self.run.id(), driven.cost, context.clock().now());
        }
        let has_heard = self.last_news().await;
        // Whoever has it now replies. With leave nobody else does.
        if leave == Gate::Unavailable && self.is_lost() {
            return self.give_up(context, driven.unread).await;
        }
        // Of a run that ends in an outage it stays open until the ledger says what it took for it.
        let unread = if has_heard { self.claim.mailbox().close(Closed::Ended) } else { Vec::new() };
        if let Some(cost) = driven.cost {
            self.io.run_cost(cost);
        }
        self.io.run_finished(self.run.id(), ending.status);
        let reply_ok = self.reply(context, ending.answer.as_deref()).await;
        self.count(context, final_status(ending.status, reply_ok));
        if let (Some(tracked), Some(true)) = (&self.tracked, reply_ok) {
            tracked.replied().await;
        }
        if let (Some(listening), Some(true)) = (&self.listening, reply_ok) {
            listening.replied(ending.status).await;
        }
        let is_untold = self.tracked.is_some() && leave == Gate::Unavailable;
        let Self { run, spans, request, claim, tracked, listening, provisional, io, in_flight } = self;
        spans.end(&run, request, None, None, context.clock().now());
        run.seal(reply_ok);

        let view = run.view();
        let end = RunEnd {
            status: final_status(ending.status, reply_ok),
            finished_at: view.finished.map_or(view.started_at, |(at, _)| at),
            steps: Some(driven.steps),
            cost: driven.cost,
        };
        let (context, record) = (context.clone(), history::record(&view, end));
        let unread = driven.unread.into_iter().chain(unread).collect();
        let (facts, status) = (view.facts, ending.status);
        let closing = Closing {
            run,
            facts,
            status,
            provisional,
            claim,
            tracked,
            listening,
            io,
            unread,
            has_heard,
            is_untold,
        };
        tokio::spawn(async move {
            let finished = closing.close(&context, &record).await;
            if let Some(memory) = memory.filter(|_| is_reflected_on_here(&context, finished, record.status)) {
                memory.reflect(&context, record, &assignment, &driven.turns, driven.tool_calls).await;
            }
            drop(in_flight);
        });
    }

    /// The leave to end the run here: closed when another process has it, which then ends it. A run with an answer asks
    /// for the right to give it.
    async fn leave(&self, ending: &Ending) -> Gate {
        match (&self.tracked, &self.listening) {
            (Some(tracked), _) if ending.answer.is_some() => tracked.finishing(ending.status).await,
            (None, Some(listening)) if ending.answer.is_some() => listening.finishing(ending.status).await,
            (_, Some(listening)) if listening.is_lost() => Gate::Closed,
            _ => Gate::Open,
        }
    }

    /// Hears what was left for the run up to now; false when the ledger did not answer, and may yet.
    async fn last_news(&self) -> bool {
        match (&self.tracked, &self.listening) {
            (Some(tracked), _) => tracked.last_news().await,
            (None, Some(listening)) => {
                listening.last_news().await;
                true
            }
            (None, None) => true,
        }
    }

    /// The run turned out to be another process's.
    fn is_lost(&self) -> bool {
        self.tracked.as_ref().is_some_and(Tracked::is_lost)
            || self.listening.as_ref().is_some_and(Listening::is_lost)
    }

    async fn reply(&self, context: &RunContext, answer: Option<&str>) -> Option<bool> {
        // A model may say what it was told by whoever holds the secret, such as its own vendor.
        let answer = context.deps().redactor.hide_known(answer?);
        let span = self.spans.start(&self.run, Some(self.request.id()), "post.reply", context.clock().now());
        let delivered = self.io.reply(&answer).await;
        let error = delivered.as_ref().err().map(|error| {
            tracing::warn!(run = %self.run.id(), error = %error, "reply not delivered");
            "reply".to_owned()
        });
        self.spans.end(&self.run, span, error, None, context.clock().now());
        Some(delivered.is_ok())
    }

    fn count(&self, context: &RunContext, status: RunStatus) {
        let view = self.run.view();
        let took = context.clock().now().saturating_sub(view.started_at);
        if let Some(agent) = agents::find(&view.facts.agent) {
            metrics::run_finished(agent.name, status, Duration::from_millis(took.unsigned_abs()));
        }
    }

    /// Leaves the run to the next process, which replies and writes its record.
    async fn hand_off(self, context: &RunContext) {
        let Some(tracked) = &self.tracked else { return };
        let is_offered = tracked.hand_off().await;
        // What came in while the last step was stored goes with the run; what it had taken is in that step.
        self.pass_on(context, Vec::new()).await;
        tracing::info!(run = %self.run.id(), is_offered, "run left to the next process");
        self.provisional.stand_down();
        context.registry().forget(self.run.id());
    }

    /// The run is another process's: nothing is said of it here any more, neither to the requester nor to the store.
    async fn give_up(self, context: &RunContext, unread: Vec<FollowUp>) {
        self.provisional.stand_down();
        context.registry().forget(self.run.id());
        self.pass_on(context, unread).await;
    }

    /// Closes the mailbox of a run that goes on elsewhere: what was taken in for it here follows it.
    async fn pass_on(&self, context: &RunContext, unread: Vec<FollowUp>) {
        let waiting = self.claim.mailbox().close(Closed::HandedOff);
        let view = self.run.view();
        let run = Unreader { status: RunStatus::Interrupted, facts: &view.facts, io: &self.io };
        leftovers::pass_on(context, self.run.id(), &run, unread.into_iter().chain(waiting)).await;
    }
}

/// Whether this process reflects on a run that ended so. The next one does where the run is another's, or is still in
/// the ledger because no store took its record.
fn is_reflected_on_here(context: &RunContext, finished: Finished, status: RunStatus) -> bool {
    let is_ours = match finished {
        Finished::Written => true,
        Finished::Anothers => false,
        Finished::Lost => context.live().is_none(),
    };
    is_ours && status != RunStatus::StoppedHard
}

/// A reply that throws after the loop makes the record `failed`; stop statuses are kept (document 2 section 3.2).
pub(crate) fn final_status(status: RunStatus, reply_ok: Option<bool>) -> RunStatus {
    match (status, reply_ok) {
        (RunStatus::Completed, Some(false)) => RunStatus::Failed,
        (status, _) => status,
    }
}
