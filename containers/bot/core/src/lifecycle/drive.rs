//! Drives a run's loop to its end, with the reading diff and the first line of a review.

use ars_agent::Turn;
use ars_bot_ports::trace;
use ars_bot_tools::review;
use ars_events::EventBody;
use ars_types::RunStatus;

use super::{active::ActiveRun, review_post::ReviewStage};
use crate::{
    abridge,
    context::RunContext,
    run::{
        Assignment, Driver, DriverExit, DriverReport, Recheck, Resumption, ReviewTarget, SpanResult,
        save_tree,
    },
};

/// The point from which a driver starts.
pub(crate) enum StartFrom {
    /// The first model call, with this conversation.
    Conversation(Vec<Turn>),
    /// The point at which another process left the run.
    Stored(Box<Resumption>),
}

impl ActiveRun {
    /// Drives the run to its end.
    pub(crate) async fn drive(
        &self,
        context: &RunContext,
        assignment: &Assignment,
        from: StartFrom,
    ) -> DriverReport {
        let root = self.spans.start(&self.run, Some(self.request.id()), "run.agent", context.clock().now());
        let stage = ReviewStage::of(self, context, assignment);
        let driver = Driver {
            run: &self.run,
            spans: &self.spans,
            root: root.id().to_owned(),
            clock: context.clock(),
            assignment,
            mailbox: self.thread.mailbox(),
            tracked: self.claim.tracked(),
            hand_off: context.hand_off(),
            recheck: stage.as_ref().map(|stage| stage as &dyn Recheck),
            io: &*self.io,
            redactor: &context.deps().redactor,
        };
        let has_diff = matches!(&from, StartFrom::Stored(resumption) if resumption.has_reading_diff);
        let driven = async {
            match from {
                StartFrom::Conversation(conversation) => driver.run(conversation).await,
                StartFrom::Stored(resumption) => driver.resume(*resumption).await,
            }
        };
        let driven = trace::within(self.run.id(), root.id(), driven);
        let diff =
            async { if has_diff { None } else { self.reading_diff(context, assignment, root.id()).await } };
        let mut join_span = None;
        let (mut report, artifact) = review::concurrently(driven, diff, |report| {
            let has_answer = matches!(&report.exit, DriverExit::Ended(outcome) if outcome.answer.is_some());
            join_span = has_answer.then(|| self.part(context, root.id(), "run.reading_diff_join"));
            has_answer
        })
        .await;
        if let Some(join_span) = join_span {
            join_span.end();
        }
        // The tree of a fenced run is its owner's. Before the push, which may take long.
        if let Some(workspace) = assignment.workspace.as_deref().filter(|_| report.exit != DriverExit::Fenced)
        {
            save_tree(workspace, &self.run).await;
        }
        if let DriverExit::Ended(outcome) = &mut report.exit {
            if let Some(artifact) = artifact {
                self.run.publish(artifact);
            }
            if let (Some(slot), Some(answer)) = (&assignment.verdict, &mut outcome.answer) {
                let observe_span = self.part(context, root.id(), "run.observe_workspace");
                let head = review::observed_head(assignment.workspace.as_deref()).await;
                observe_span.end_with(SpanResult::of(head.is_none().then(|| "unknown".to_owned())));
                let end = review::End {
                    status: outcome.status,
                    cut_short: outcome.cut_short,
                    head: head.as_deref(),
                };
                *answer = review::prepend_status_line(slot.current().as_ref(), end, answer);
            }
        }
        self.publish_on_host(context, assignment, stage.as_ref(), &mut report).await;
        let failed =
            matches!(&report.exit, DriverExit::Ended(outcome) if outcome.status == RunStatus::Failed);
        let error = failed.then(|| "failed".to_owned());
        self.spans.end(&self.run, root, SpanResult::of(error), context.clock().now());
        report
    }

    /// Publishes a completed run on the code host, and adds the result to its answer.
    async fn publish_on_host(
        &self,
        context: &RunContext,
        assignment: &Assignment,
        stage: Option<&ReviewStage<'_>>,
        report: &mut DriverReport,
    ) {
        let cost = report.cost;
        let DriverExit::Ended(outcome) = &mut report.exit else { return };
        let Some(answer) = outcome.answer.as_mut().filter(|_| outcome.status == RunStatus::Completed) else {
            return;
        };
        let line = match stage {
            Some(stage) => stage.finish(answer).await,
            None => self.publish_change(context, assignment, cost).await,
        };
        if let Some(line) = line {
            *answer = format!("{}\n\n{line}", answer.trim_end());
        }
    }

    /// Computes the diff that people read beside a review, while the review goes on.
    async fn reading_diff(
        &self,
        context: &RunContext,
        assignment: &Assignment,
        root: &str,
    ) -> Option<EventBody> {
        assignment.verdict.as_ref()?;
        if !abridge::has_reading_diffs(&context.settings().reading_diff) {
            return None;
        }
        let workspace = assignment.workspace.as_deref()?;
        let span = self.part(context, root, "run.reading_diff");
        let redactor = &context.deps().redactor;
        let base = assignment.review.as_ref().and_then(ReviewTarget::base_ref);
        let diff = review::reading_diff(workspace, base.as_ref(), redactor, &self.run.stops().hard).await;
        span.end();
        diff
    }
}
