//! Drives a run's loop to the end, with the reading diff and the first line of a review.

use std::future::ready;

use ars_agent::{RunOutcome, Turn};
use ars_bot_ports::{Checkpoint, trace};
use ars_bot_tools::review;
use ars_codehost::diff::Commit;
use ars_events::{EventBody, NoteKind};
use ars_types::RunStatus;

use super::{active::ActiveRun, review_post::ReviewStage};
use crate::{
    abridge,
    context::RunContext,
    run::{
        Driver, DriverExit, DriverReport, PreparedRun, Recheck, Resumption, ReviewTarget,
        RunCodeHost, SpanResult, save_tree,
    },
};

/// The line about the review of a run that was stopped softly.
const REVIEW_STOPPED: &str =
    "The review was not posted, because the run was stopped. Send the request again.";

/// The point from which a driver starts.
pub(crate) enum StartFrom {
    /// The first model call, with this conversation.
    Conversation(Vec<Turn>),
    /// The point at which another process left the run.
    Stored(Box<Resumption>),
}

impl ActiveRun {
    /// Drives the run to the end.
    pub(crate) async fn drive(
        &self,
        context: &RunContext,
        prepared: &PreparedRun,
        from: StartFrom,
    ) -> DriverReport {
        let root = self.spans.start(
            &self.run,
            Some(self.request.id()),
            "run.agent",
            context.clock().now(),
        );
        let stage = ReviewStage::for_run(self, context, prepared);
        let driver = Driver {
            run: &self.run,
            spans: &self.spans,
            root: root.id().to_owned(),
            clock: context.clock(),
            prepared,
            mailbox: self.thread.mailbox(),
            tracked: self.claim.tracked(),
            hand_off: context.hand_off(),
            is_in_blocks: context.settings().structured_output,
            recheck: stage.as_ref().map(|stage| stage as &dyn Recheck),
            io: &*self.io,
            redactor: &context.deps().redactor,
        };
        let has_diff =
            matches!(&from, StartFrom::Stored(resumption) if resumption.has_reading_diff);
        let driven = async {
            match from {
                StartFrom::Conversation(conversation) => driver.run(conversation).await,
                StartFrom::Stored(resumption) => driver.resume(*resumption).await,
            }
        };
        let driven = trace::within(self.run.id(), root.id(), driven);
        let diff = async {
            if has_diff {
                return None;
            }
            let target = prepared.work.review_target();
            self.reading_diff(context, prepared, target, root.id())
                .await
        };
        let (mut report, mut artifact) = self.drive_beside(context, root.id(), driven, diff).await;
        if let Some(target) = stage
            .as_ref()
            .and_then(ReviewStage::moved_target)
            .filter(|_| has_answer(&report))
        {
            let diff = self.reading_diff(context, prepared, Some(&target), root.id());
            artifact = review::concurrently(ready(()), diff, |()| true).await.1;
        }
        // Before the push, which may take long.
        let saved = self.save_own_tree(prepared, &report).await;
        if let DriverExit::Ended(outcome) = &mut report.exit {
            if let Some(artifact) = artifact {
                self.run.publish(artifact);
            }
            self.add_status_line(context, prepared, outcome, root.id())
                .await;
        }
        self.publish_on_host(context, prepared, stage.as_ref(), &mut report)
            .await;
        self.report_unpushed(prepared, saved.as_ref(), &mut report)
            .await;
        let failed = matches!(&report.exit, DriverExit::Ended(outcome) if outcome.status == RunStatus::Failed);
        let error = failed.then(|| "failed".to_owned());
        self.spans.end(
            &self.run,
            root,
            SpanResult::from_error(error),
            context.clock().now(),
        );
        report
    }

    /// Saves the tree, unless the run is fenced: its tree is the new owner's.
    async fn save_own_tree(
        &self,
        prepared: &PreparedRun,
        report: &DriverReport,
    ) -> Option<Checkpoint> {
        let workspace = prepared.workspace.as_deref()?;
        if report.exit == DriverExit::Fenced {
            return None;
        }
        save_tree(workspace, &self.run).await
    }

    /// Drives the run while its reading diff is written.
    async fn drive_beside(
        &self,
        context: &RunContext,
        parent: &str,
        driven: impl Future<Output = DriverReport>,
        diff: impl Future<Output = Option<EventBody>>,
    ) -> (DriverReport, Option<EventBody>) {
        let mut join_span = None;
        let ended = review::concurrently(driven, diff, |report| {
            let joins = has_answer(report);
            join_span = joins.then(|| self.part(context, parent, "run.reading_diff_join"));
            joins
        })
        .await;
        if let Some(join_span) = join_span {
            join_span.end();
        }
        ended
    }

    /// Publishes a run that ended with an answer on the code host, and adds the result to the answer.
    /// The commits of a softly stopped run are published too, but no review.
    async fn publish_on_host(
        &self,
        context: &RunContext,
        prepared: &PreparedRun,
        stage: Option<&ReviewStage<'_>>,
        report: &mut DriverReport,
    ) {
        let cost = report.cost;
        let DriverExit::Ended(outcome) = &mut report.exit else {
            return;
        };
        let Some(answer) = outcome.answer.as_mut() else {
            return;
        };
        let line = match (outcome.status, stage) {
            (RunStatus::Completed, Some(stage)) => stage.finish(answer).await,
            (RunStatus::StoppedSoft, Some(_)) => Some(REVIEW_STOPPED.to_owned()),
            (RunStatus::Completed | RunStatus::StoppedSoft, None) => {
                self.publish_change(context, prepared, cost).await
            }
            _ => None,
        };
        if let Some(line) = line {
            append(answer, &line);
        }
    }

    /// Reports the commits of a run that failed or was stopped hard, which are not pushed.
    async fn report_unpushed(
        &self,
        prepared: &PreparedRun,
        saved: Option<&Checkpoint>,
        report: &mut DriverReport,
    ) {
        let DriverExit::Ended(outcome) = &mut report.exit else {
            return;
        };
        let is_cut_off = matches!(outcome.status, RunStatus::Failed | RunStatus::StoppedHard);
        let Some(workspace) = prepared.workspace.as_deref().filter(|_| is_cut_off) else {
            return;
        };
        if prepared.work.description().is_none() {
            return;
        }
        let Some(text) = self.unpushed_text(workspace, saved).await else {
            return;
        };
        match outcome
            .answer
            .as_mut()
            .filter(|_| outcome.status == RunStatus::Failed)
        {
            Some(answer) => append(answer, &text),
            // A run that was stopped hard has no reply.
            None => self.run.publish(EventBody::note(NoteKind::Tree, text)),
        }
    }

    /// Writes the first line of a review's answer.
    async fn add_status_line(
        &self,
        context: &RunContext,
        prepared: &PreparedRun,
        outcome: &mut RunOutcome,
        root: &str,
    ) {
        let (Some(slot), Some(answer)) = (prepared.work.verdict(), &mut outcome.answer) else {
            return;
        };
        let observe_span = self.part(context, root, "run.observe_workspace");
        let head = review::observed_head(prepared.workspace.as_deref()).await;
        observe_span.end_with(SpanResult::from_error(
            head.is_none().then(|| "unknown".to_owned()),
        ));
        let end = review::End {
            status: outcome.status,
            cut_short: outcome.cut_short,
            head: head.as_deref(),
        };
        *answer = review::prepend_status_line(slot.current().as_ref(), end, answer);
    }

    /// Computes the diff that people read beside a review, while the review goes on.
    async fn reading_diff(
        &self,
        context: &RunContext,
        prepared: &PreparedRun,
        target: Option<&ReviewTarget>,
        root: &str,
    ) -> Option<EventBody> {
        prepared.work.verdict()?;
        if !abridge::has_reading_diffs(&context.settings().reading_diff) {
            return None;
        }
        let workspace = prepared.workspace.as_deref()?;
        let span = self.part(context, root, "run.reading_diff");
        let redactor = &context.deps().redactor;
        let (branch, merge_base) = match target {
            Some(target) => (
                target.base_ref(),
                merge_base(prepared.spec.code_host.as_ref(), target).await,
            ),
            None => (None, None),
        };
        let stop = self.run.stops().hard;
        let diff = review::reading_diff(
            workspace,
            branch.as_ref(),
            merge_base.as_ref(),
            redactor,
            &stop,
        )
        .await;
        span.end();
        diff
    }
}

fn has_answer(report: &DriverReport) -> bool {
    matches!(&report.exit, DriverExit::Ended(outcome) if outcome.answer.is_some())
}

/// Returns the merge base of a pull request's head; `None` if the code host does not name it.
async fn merge_base(access: Option<&RunCodeHost>, target: &ReviewTarget) -> Option<Commit> {
    let head = target.head()?;
    let compared = access?
        .host
        .compare(&target.repository, &target.base, head.as_str())
        .await;
    compared.ok()?.merge_base
}

fn append(answer: &mut String, line: &str) {
    *answer = format!("{}\n\n{line}", answer.trim_end());
}
