//! Finishes a run: performs the actions of [`RunEnd`].
//!
//! Everything up to the seal happens while the request waits. The record and the steps behind it
//! follow in their own task. Not here: the step order (`ars_agent::run_end`), and retrying single
//! writes (`history`, `live`).

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use ars_agent::{
    Turn,
    run_end::{Action, FinalFlush, FollowUps, Input, Operation, RecordWrite, RunEnd},
};
use ars_bot_ports::{Channel, ChannelEvent, Release, metrics};
use ars_bot_tools::agents;
use ars_events::EventBody;
use ars_runs::{RunRecord, TAINT};
use ars_types::RunStatus;
use serde_json::Value;
use tokio::time::Instant;

use super::{active::ActiveRun, requeue::EndedRun};
use crate::{
    abridge,
    context::RunContext,
    history::{self, FinalRecord, Provisional, RunTotals},
    limits::InFlight,
    live::LedgerClaim,
    memory::{Conversation, Remembering},
    registry::{RunFacts, RunHandle},
    run::{DriverExit, DriverReport, PreparedRun, Span, SpanResult, Spans},
    threads::{Claim, Closed, FollowUp, Mailbox},
};

impl ActiveRun {
    /// Finishes the run as the driver left it. `memory` is the run's part in memory, if it
    /// reflects.
    pub(crate) async fn finish(
        self,
        context: &RunContext,
        prepared: PreparedRun,
        memory: Option<Remembering>,
        report: DriverReport,
    ) {
        let Self {
            run,
            spans,
            request,
            thread,
            claim,
            provisional,
            io,
            in_flight,
        } = self;
        let (input, status, answer) = match report.exit {
            DriverExit::Ended(outcome) => {
                let input = Input::Ended {
                    status: outcome.status,
                    has_answer: outcome.answer.is_some(),
                };
                (input, outcome.status, outcome.answer)
            }
            DriverExit::HandedOff => (Input::HandedOff, RunStatus::Interrupted, None),
            DriverExit::Fenced => (Input::FencedOut, RunStatus::Interrupted, None),
        };
        let progress = Progress {
            end: RunEnd::new(claim.knowledge()),
            since: Instant::now(),
            queue: VecDeque::new(),
            knows_fence: false,
            knows_shutdown: false,
        };
        let effects = Effects {
            context: context.clone(),
            facts: run.view().facts,
            run,
            spans,
            request: Some(request),
            mailbox: thread.mailbox().clone(),
            thread: Some(thread),
            claim,
            provisional,
            io,
            prepared,
            memory,
            answer,
            raw_answer: report.raw_answer,
            status,
            steps: report.steps,
            cost: report.cost,
            turns: report.turns,
            tools: report.tools,
            tool_calls: report.tool_calls,
            unread: report.unread,
            record: None,
            _in_flight: in_flight,
        };
        let mut finish = Finish { progress, effects };
        finish.progress.feed(&finish.effects, input);
        finish.run(Until::Sealed).await;
        if !finish.progress.is_over() {
            tokio::spawn(async move { finish.run(Until::Over).await });
        }
    }
}

/// The machine with its effects.
struct Finish {
    progress: Progress,
    effects: Effects,
}

/// How far [`Finish::run`] goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Sealed,
    Over,
}

/// The machine and the actions that it returned.
struct Progress {
    end: RunEnd,
    since: Instant,
    queue: VecDeque<Action>,
    knows_fence: bool,
    knows_shutdown: bool,
}

impl Finish {
    async fn run(&mut self, until: Until) {
        while let Some(action) = self.progress.queue.pop_front() {
            match action {
                Action::Await(operation) => self.progress.wait_for(&self.effects, operation).await,
                action => self.effects.perform(action).await,
            }
            if until == Until::Sealed && matches!(action, Action::Seal { .. }) {
                return;
            }
        }
    }
}

impl Progress {
    fn is_over(&self) -> bool {
        self.queue.is_empty() && self.end.is_over()
    }

    /// Feeds the run's exit or an answer, behind a fence that the machine does not know yet.
    fn feed(&mut self, effects: &Effects, input: Input) {
        let is_replaced =
            effects.claim.is_fenced() && !self.knows_fence && self.step(Input::FencedOut);
        let has_effect = !is_replaced && self.step(input);
        if !has_effect && !self.end.is_over() {
            tracing::error!(run = %effects.run.id(), ?input, "answer to an operation that is not outstanding");
        }
    }

    /// Returns `true` if the input leads to actions.
    fn step(&mut self, input: Input) -> bool {
        self.knows_fence |= input == Input::FencedOut;
        self.knows_shutdown |= input == Input::ShutdownRequested;
        let actions = self.end.step(input, self.since.elapsed());
        let has_actions = !actions.is_empty();
        self.queue.extend(actions);
        has_actions
    }

    /// Waits for the answer to an operation, or for an event that replaces the operation.
    async fn wait_for(&mut self, effects: &Effects, operation: Operation) {
        let answer = effects.answer(operation, self.since);
        tokio::pin!(answer);
        loop {
            let event = tokio::select! {
                biased;
                () = effects.claim.fenced(), if !self.knows_fence => Input::FencedOut,
                () = effects.context.hand_off().cancelled(), if !self.knows_shutdown => Input::ShutdownRequested,
                input = &mut answer => return self.feed(effects, input),
            };
            if self.step(event) {
                return;
            }
        }
    }
}

/// Everything that the actions work on.
struct Effects {
    context: RunContext,
    run: RunHandle,
    facts: RunFacts,
    spans: Spans,
    /// The request's span, until the seal.
    request: Option<Span>,
    mailbox: Mailbox,
    /// The thread, until it is released.
    thread: Option<Claim>,
    claim: LedgerClaim,
    provisional: Provisional,
    io: Arc<dyn Channel>,
    prepared: PreparedRun,
    memory: Option<Remembering>,
    answer: Option<String>,
    /// The model's own answer, if it differs.
    raw_answer: Option<String>,
    /// How the loop ended the run.
    status: RunStatus,
    steps: u32,
    cost: Option<u64>,
    turns: Vec<Turn>,
    tools: BTreeSet<String>,
    tool_calls: u32,
    unread: Vec<FollowUp>,
    /// Built at the seal.
    record: Option<RunRecord>,
    _in_flight: InFlight,
}

impl Effects {
    /// Performs an operation. `since` is when the machine's clock started.
    async fn answer(&self, operation: Operation, since: Instant) -> Input {
        match operation {
            Operation::AcquireReplyPermit(status) => {
                Input::Permit(self.claim.acquire_reply_permit(status).await)
            }
            Operation::Flush { deadline: None } => Input::Flushed(self.claim.final_flush().await),
            Operation::Flush {
                deadline: Some(deadline),
            } => {
                let flush =
                    tokio::time::timeout_at(since + deadline, self.claim.final_flush()).await;
                Input::Flushed(flush.unwrap_or(FinalFlush::Failed))
            }
            Operation::SendReply => Input::Replied {
                delivered: self.reply().await,
            },
            Operation::MarkReplied(status) => {
                self.claim.mark_replied(status).await;
                Input::ReplyMarked
            }
            Operation::WriteRecord { flush_first } => Input::Record(match self.due(flush_first) {
                Some(due) => self.context.history().finish(&self.provisional, &due).await,
                None => RecordWrite::Lost,
            }),
            Operation::RetryLostRecord { flush_first } => {
                Input::Record(match self.due(flush_first) {
                    Some(due) => self.context.history().retry_lost_record(&due).await,
                    None => RecordWrite::Lost,
                })
            }
            Operation::Wait(wait) => {
                tokio::time::sleep(wait).await;
                Input::Elapsed
            }
        }
    }

    /// Performs an action without an answer.
    async fn perform(&mut self, action: Action) {
        match action {
            Action::PublishAnswer => {
                if let Some(text) = self.answer.clone() {
                    let raw = self.raw_answer.clone();
                    self.run.publish(EventBody::Answer { text, raw });
                }
            }
            Action::Finish(status) => {
                self.run.set_cost(self.cost);
                self.run.finish(status);
            }
            Action::SettleSpend => {
                if let Some(hold) = self.prepared.spec.hold.take() {
                    hold.settle(self.run.id(), self.cost, self.context.clock().now());
                }
            }
            Action::CloseMailbox => self.unread.extend(self.mailbox.close(Closed::Ended)),
            Action::RedirectMailbox => self.unread.extend(self.mailbox.close(Closed::HandedOff)),
            Action::CollectFollowUps => self.unread.extend(self.mailbox.take()),
            Action::SendReceipt(status) => {
                if let Some(cost) = self.cost {
                    self.io.inform(ChannelEvent::RunCost(cost)).await;
                }
                let run = self.run.id().clone();
                self.io
                    .inform(ChannelEvent::RunFinished { run, status })
                    .await;
            }
            Action::Seal { reply_ok, status } => self.seal(reply_ok, status),
            Action::RejectFollowUps(scope) => {
                let follow_ups = self.take_unread(scope);
                let runnable = self.ended_run().reject(follow_ups).await;
                self.unread.extend(runnable);
            }
            Action::DispatchFollowUps(scope) => {
                let follow_ups = self.take_unread(scope);
                self.ended_run().dispatch(&self.context, &follow_ups).await;
            }
            Action::ForwardFollowUps => {
                let follow_ups = self.take_unread(FollowUps::All);
                // The owner decides a fenced run's outcome, so a stop here does not reject them.
                let status = if self.claim.is_fenced() {
                    RunStatus::Interrupted
                } else {
                    self.status
                };
                EndedRun {
                    status,
                    ..self.ended_run()
                }
                .forward(&self.context, self.run.id(), follow_ups)
                .await;
            }
            Action::FreeThread => {
                self.release_tree().await;
                drop(self.thread.take().map(Claim::release));
            }
            Action::Reflect => self.reflect().await,
            Action::HandOff => {
                if let Some(tracked) = self.claim.tracked() {
                    let is_offered = tracked.hand_off().await;
                    tracing::info!(run = %self.run.id(), is_offered, "run handed off");
                }
            }
            Action::AbortLocal => {
                self.provisional.stand_down();
                self.context.registry().forget(self.run.id());
                let page = self.context.settings().run_url(self.run.id());
                let run = self.run.id().clone();
                self.io.inform(ChannelEvent::RunMoved { run, page }).await;
            }
            // The answer is awaited in `Progress`.
            Action::Await(_) => {}
        }
    }

    fn ended_run(&self) -> EndedRun<'_> {
        let tokens = self.context.tokens();
        EndedRun {
            status: self.status,
            facts: &self.facts,
            io: &self.io,
            tokens,
        }
    }

    /// Takes unread follow-ups out. Those that the ledger's inbox holds are numbered.
    fn take_unread(&mut self, scope: FollowUps) -> Vec<FollowUp> {
        let is_in_scope =
            |follow_up: &mut FollowUp| scope == FollowUps::All || follow_up.inbox_seq.is_none();
        self.unread.extract_if(.., is_in_scope).collect()
    }

    /// Delivers the answer. Returns `false` if the channel refused it.
    async fn reply(&self) -> bool {
        // A model may repeat a secret that it received elsewhere, such as from the vendor.
        let answer = self
            .context
            .deps()
            .redactor
            .hide_known(self.answer.as_deref().unwrap_or_default());
        let clock = self.context.clock();
        let parent = self.request.as_ref().map(Span::id);
        let span = self
            .spans
            .start(&self.run, parent, "post.reply", clock.now());
        let delivered = self.io.send(ChannelEvent::Reply(answer.into_owned())).await;
        let error = delivered.as_ref().err().map(|error| {
            tracing::warn!(run = %self.run.id(), error = %error, "reply not delivered");
            "reply".to_owned()
        });
        self.spans
            .end(&self.run, span, SpanResult::from_error(error), clock.now());
        delivered.is_ok()
    }

    fn seal(&mut self, reply_ok: Option<bool>, status: RunStatus) {
        let now = self.context.clock().now();
        if let Some(request) = self.request.take() {
            self.spans.end(&self.run, request, SpanResult::Ok, now);
        }
        self.run.seal(reply_ok);
        let view = self.run.view();
        let finished_at = view.finished.map_or(view.started_at, |(at, _)| at);
        // To the finish: the reply and the mark in the ledger are not the run's time.
        let duration = finished_at.saturating_sub(view.started_at);
        if let Some(agent) = agents::find(&view.facts.agent) {
            metrics::run_finished(
                agent.name,
                status,
                Duration::from_millis(duration.unsigned_abs()),
            );
        }
        let totals = RunTotals {
            status,
            finished_at,
            steps: Some(self.steps),
            cost: self.cost,
        };
        let mut record = history::record(&view, totals);
        if let Some(memory) = &self.memory {
            let sources = memory.taint(&self.tools);
            let sources = sources
                .iter()
                .map(|source| Value::from(source.as_str()))
                .collect();
            record.extra.insert(TAINT.to_owned(), sources);
        }
        // The sources are not shortened, so they count towards the record limit.
        self.record = Some(ars_runs::budget::fit(record));
    }

    /// Gives the tree up before the thread's next run can open it.
    async fn release_tree(&self) {
        // A fenced run's tree belongs to the owner.
        let Some(workspace) = self
            .prepared
            .workspace
            .as_ref()
            .filter(|_| !self.claim.is_fenced())
        else {
            return;
        };
        let is_stopped = self.status == RunStatus::StoppedHard;
        workspace
            .release(if is_stopped {
                Release::Stopped
            } else {
                Release::Ended
            })
            .await;
    }

    fn due(&self, flush_first: bool) -> Option<FinalRecord<'_>> {
        Some(FinalRecord {
            run: &self.run,
            record: self.record.as_ref()?,
            live: self.context.live(),
            flush_first: flush_first.then_some(&self.claim),
        })
    }

    async fn reflect(&mut self) {
        if let Some(record) = &self.record {
            abridge::automatically(&self.context, record);
        }
        if let (Some(memory), Some(record)) = (&self.memory, self.record.take()) {
            let conversation = Conversation {
                turns: &self.turns,
                tools: &self.tools,
                tool_calls: self.tool_calls,
            };
            memory
                .reflect(&self.context, &record, &self.prepared.spec, conversation)
                .await;
        }
    }
}
