//! Runs a turn's tool calls: consecutive effect-free calls together, others alone and in order.

use std::{borrow::Cow, time::Duration};

use ars_agent::{
    Sandbox, ToolCall, ToolContent, ToolOutcome,
    context::{Kept, is_oversized, referenced},
};
use ars_bot_ports::{
    Workspace,
    metrics::{self, Outcome},
};
use ars_bot_tools::{Effects, RunFacilities, Tool, ToolContext, ToolOutput};
use futures::{FutureExt as _, StreamExt as _, stream};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    assignment::RunCodeHost, driver::Driver, spans::SpanResult, tool_events::PublishedCalls,
    watched::Watched,
};

/// Time for a stopped tool to return before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// Maximum concurrent calls per run.
const AT_ONCE: usize = 8;
/// Maximum calls in a turn.
const CALLS_MAX: usize = 64;
/// Result for a call that a hard stop ended or prevented.
const STOPPED: &str = "stopped";
/// Result for a call that the time budget prevented.
const NO_TIME: &str = "Not run: the run has no time left. Answer now.";
/// Result for a call that the time budget ended.
const OUT_OF_TIME: &str = "Ended: the run's time was used up before the call was done. Answer now.";
/// Maximum characters per output in the conversation. The tools' own limits are lower.
const TEXT_MAX: usize = 60_000;

/// Limits for a turn's calls, all together.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'a> {
    /// When the run's time ends, on the timeouts' clock.
    pub(super) deadline: Instant,
    /// Fires on a hard stop.
    pub(super) hard_stop: &'a CancellationToken,
}

impl Bounds<'_> {
    fn remaining(self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl Driver<'_> {
    /// Runs the calls and returns their outcomes in call order. Events in `published` are not repeated.
    pub(super) async fn run_tools(
        &self,
        calls: &[ToolCall],
        bounds: Bounds<'_>,
        published: &PublishedCalls,
    ) -> Vec<ToolOutcome> {
        let (taken, rest) = calls.split_at(calls.len().min(CALLS_MAX));
        let mut outcomes = Vec::with_capacity(calls.len());
        for group in taken.chunk_by(|a, b| self.is_read_only(a) && self.is_read_only(b)) {
            // Collected, because the compiler cannot prove the closure's futures to be `Send` otherwise.
            let running: Vec<_> = group
                .iter()
                .map(|call| self.run_tool(call, bounds, published).boxed())
                .collect();
            let done: Vec<_> = stream::iter(running).buffered(AT_ONCE).collect().await;
            outcomes.extend(done);
        }
        outcomes.extend(
            rest.iter()
                .map(|call| self.skip_call(call, too_many(), published)),
        );
        outcomes
    }

    fn is_read_only(&self, call: &ToolCall) -> bool {
        self.prepared
            .spec
            .tools
            .find(&call.name)
            .is_some_and(|tool| tool.effects() == Effects::None)
    }

    async fn run_tool(
        &self,
        call: &ToolCall,
        bounds: Bounds<'_>,
        published: &PublishedCalls,
    ) -> ToolOutcome {
        let tool = self.prepared.spec.tools.find(&call.name);
        self.publish_call(call, published);
        let name = format!("tool.{}", call.name);
        let span = self
            .spans
            .start(self.run, Some(&self.root), name, self.clock.now());
        let began = Instant::now();
        let output = match tool {
            None => self.prepared.spec.tools.unknown(),
            Some(_) if bounds.hard_stop.is_cancelled() => ToolOutput::refused(STOPPED),
            Some(_) if bounds.remaining().is_zero() => ToolOutput::refused(NO_TIME),
            Some(tool) => self.perform(tool, call, bounds).await,
        };
        self.note_evidence(call, &output).await;
        let error = (!output.ok).then(|| {
            if output.sandbox == Sandbox::Failed {
                "infra"
            } else {
                "failed"
            }
            .to_owned()
        });
        self.spans.end(
            self.run,
            span,
            SpanResult::from_error(error),
            self.clock.now(),
        );
        let outcome = match (output.ok, output.sandbox) {
            (true, _) => Outcome::Ok,
            (false, Sandbox::Failed) => Outcome::Infra,
            (false, Sandbox::Untouched | Sandbox::Works | Sandbox::Busy) => Outcome::Failed,
        };
        metrics::tool_call(tool.map(|_| call.name.as_str()), outcome, began.elapsed());
        self.publish_result(call, &output, published);
        output.into_outcome(&call.call_id)
    }

    async fn perform(&self, tool: &dyn Tool, call: &ToolCall, bounds: Bounds<'_>) -> ToolOutput {
        let cancel = bounds.hard_stop.child_token();
        let watched = self.prepared.workspace.as_deref().map(Watched::new);
        let context = ToolContext {
            workspace: watched.as_ref().map(|watched| watched as &dyn Workspace),
            web: self.prepared.spec.web.as_deref(),
            remaining: bounds.remaining(),
            cancel: &cancel,
            run: RunFacilities {
                agent: self.prepared.spec.agent.name,
                skills: self.prepared.spec.skills.as_deref(),
                verdict: self.prepared.work.verdict(),
                description: self.prepared.work.description(),
                code_host: self
                    .prepared
                    .spec
                    .code_host
                    .as_ref()
                    .map(RunCodeHost::access),
                publish: &|event| self.run.publish(event),
                status: &|text| self.io.show_status(self.redactor.clean(text, usize::MAX)),
                hide: &|text| self.hidden(text),
            },
        };
        let interrupted = async {
            let reason = tokio::select! {
                () = bounds.hard_stop.cancelled() => STOPPED,
                () = sleep_until(bounds.deadline) => OUT_OF_TIME,
            };
            cancel.cancel();
            if tool.needs_cleanup() {
                sleep(STOP_GRACE).await;
            }
            reason
        };
        let mut output = tokio::select! {
            output = tool.run(context, &call.input) => output,
            reason = interrupted => return ToolOutput::refused(reason),
        };
        if output.sandbox == Sandbox::Untouched
            && watched.is_some_and(|watched| watched.has_answered())
        {
            output.sandbox = Sandbox::Works;
        }
        self.within_bounds(self.without_secrets(output)).await
    }

    /// Removes the installation's secrets, because the conversation goes to a model vendor.
    fn without_secrets(&self, mut output: ToolOutput) -> ToolOutput {
        for content in &mut output.content {
            if let ToolContent::Text { text } = content {
                *text = self.hidden(std::mem::take(text));
            }
        }
        output
    }

    /// Hides secrets. Returns the same allocation when there are none, because the text may be megabytes.
    fn hidden(&self, text: String) -> String {
        let hidden = match self.redactor.hide_known(&text) {
            Cow::Owned(hidden) => Some(hidden),
            Cow::Borrowed(_) => None,
        };
        hidden.unwrap_or(text)
    }

    /// Shortens a long output for the conversation. The whole output goes to a file if there is a tree.
    async fn within_bounds(&self, mut output: ToolOutput) -> ToolOutput {
        for content in &mut output.content {
            let ToolContent::Text { text } = content else {
                continue;
            };
            if !is_oversized(text, TEXT_MAX) {
                continue;
            }
            let kept = match &self.prepared.workspace {
                Some(workspace) => workspace.keep_output(text).await.ok(),
                None => None,
            };
            *text = referenced(
                text,
                TEXT_MAX,
                kept.as_deref().map_or(Kept::Nowhere, Kept::Whole),
            );
        }
        output
    }
}

/// Returns the result for a call beyond the turn's limit.
fn too_many() -> ToolOutput {
    ToolOutput::refused(format!(
        "Not run: at most {CALLS_MAX} calls of one turn are. Ask for it in the next one."
    ))
}
