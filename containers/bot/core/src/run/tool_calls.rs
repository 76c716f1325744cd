//! Running one turn's tool calls: consecutive side-effect-free ones together, others alone and in order.

use std::{collections::HashSet, time::Duration};

use ars_agent::{
    ToolCall, ToolContent, ToolOutcome,
    context::{is_oversized, referenced},
};
use ars_events::{COMMAND_MAX, EventBody, OUTPUT_MAX};
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::driver::Driver;
use crate::{
    metrics::{self, Outcome},
    tools::{Effects, RunFacilities, Tool, ToolContext, ToolOutput},
};

/// How long a tool may take to notice a hard stop before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// Most characters of a call's one-line summary, as of a result's (bot supplement section 9).
const SUMMARY_MAX: usize = 200;
/// Most characters of one output in the conversation; the tools' own limits are below it where they have one.
const TEXT_MAX: usize = 60_000;
/// Said in place of a file's name where there is none.
const NOWHERE: &str = "no file: ask for less at a time";
/// The tool whose calls carry their command and whose results carry an exit code.
const SHELL_TOOL: &str = "bash";

impl Driver<'_> {
    /// Runs the calls and returns their outcomes in call order. Calls that are `announced` already are not again.
    pub(super) async fn run_tools(
        &self,
        calls: &[ToolCall],
        remaining: Duration,
        hard_stop: &CancellationToken,
        announced: &HashSet<String>,
    ) -> Vec<ToolOutcome> {
        let mut outcomes = Vec::with_capacity(calls.len());
        for group in calls.chunk_by(|a, b| self.is_read_only(a) && self.is_read_only(b)) {
            let running = group
                .iter()
                .map(|call| self.run_tool(call, remaining, hard_stop, announced.contains(&call.call_id)));
            outcomes.extend(join_all(running).await);
        }
        outcomes
    }

    fn is_read_only(&self, call: &ToolCall) -> bool {
        self.assignment.tools.find(&call.name).is_some_and(|tool| tool.effects() == Effects::None)
    }

    async fn run_tool(
        &self,
        call: &ToolCall,
        remaining: Duration,
        hard_stop: &CancellationToken,
        is_announced: bool,
    ) -> ToolOutcome {
        let tool = self.assignment.tools.find(&call.name);
        if !is_announced {
            self.announce(call, tool);
        }
        let name = format!("tool.{}", call.name);
        let span = self.spans.start(self.run, Some(&self.root), name, self.clock.now());
        let began = tokio::time::Instant::now();
        let output = match tool {
            Some(tool) => self.perform(tool, call, remaining, hard_stop).await,
            None => self.assignment.tools.unknown(),
        };
        let error = (!output.ok).then(|| if output.infra { "infra" } else { "failed" }.to_owned());
        self.spans.end(self.run, span, error, None, self.clock.now());
        let outcome = match (output.ok, output.infra) {
            (true, _) => Outcome::Ok,
            (false, true) => Outcome::Infra,
            (false, false) => Outcome::Failed,
        };
        metrics::tool_call(tool.map(|_| call.name.as_str()), outcome, began.elapsed());
        self.publish_result(call, &output);
        output.of_call(&call.call_id)
    }

    fn announce(&self, call: &ToolCall, tool: Option<&dyn Tool>) {
        let summary = tool.map_or_else(|| call.name.clone(), |tool| tool.summary(&call.input));
        let command = (call.name == SHELL_TOOL)
            .then(|| call.input.get("command").and_then(serde_json::Value::as_str))
            .flatten()
            .map(|command| self.redactor.clean(command, COMMAND_MAX));
        self.run.publish(EventBody::ToolCall {
            tool: call.name.clone(),
            summary: self.redactor.clean(&summary, SUMMARY_MAX),
            call_id: Some(call.call_id.clone()),
            command,
        });
    }

    async fn perform(
        &self,
        tool: &dyn Tool,
        call: &ToolCall,
        remaining: Duration,
        hard_stop: &CancellationToken,
    ) -> ToolOutput {
        let context = ToolContext {
            workspace: self.assignment.workspace.as_deref(),
            web: self.assignment.web.as_deref(),
            remaining,
            cancel: hard_stop,
            run: RunFacilities {
                agent: self.assignment.agent.name,
                skills: self.assignment.skills.as_deref(),
                verdict: self.assignment.verdict.as_ref(),
                publish: &|event| self.run.publish(event),
            },
        };
        let stopped = async {
            hard_stop.cancelled().await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        let output = tokio::select! {
            output = tool.run(context, &call.input) => output,
            () = stopped => return ToolOutput::refused("stopped"),
        };
        self.within_bounds(output).await
    }

    /// The output as the conversation takes it: of a text that is too long the ends, and the whole in a file if there is
    /// a tree to keep it in.
    async fn within_bounds(&self, mut output: ToolOutput) -> ToolOutput {
        for content in &mut output.content {
            let ToolContent::Text { text } = content else { continue };
            if !is_oversized(text, TEXT_MAX) {
                continue;
            }
            let kept = match &self.assignment.workspace {
                Some(workspace) => workspace.keep_output(text).await.ok(),
                None => None,
            };
            *text = referenced(text, TEXT_MAX, kept.as_deref().unwrap_or(NOWHERE));
        }
        output
    }

    pub(super) fn publish_result(&self, call: &ToolCall, output: &ToolOutput) {
        let text = text_of(&output.content);
        let text = self.redactor.clean(&text, usize::MAX);
        self.run.publish(EventBody::ToolResult {
            tool: call.name.clone(),
            ok: output.ok,
            summary: ars_events::result_summary(&text),
            call_id: Some(call.call_id.clone()),
            exit_code: output.exit_code.map(i64::from),
            output: (!text.is_empty()).then(|| ars_events::cap(&text, OUTPUT_MAX).into_owned()),
            infra: output.infra.then_some(true),
        });
    }
}

/// The text of a result; other content is named, never carried in the stream.
fn text_of(content: &[ToolContent]) -> String {
    let pieces = content.iter().map(|piece| match piece {
        ToolContent::Text { text } => text.clone(),
        ToolContent::Image { media_type, .. } | ToolContent::Document { media_type, .. } => {
            format!("({media_type})")
        }
    });
    pieces.collect::<Vec<_>>().join("\n")
}
