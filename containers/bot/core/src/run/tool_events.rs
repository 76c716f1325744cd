//! A tool call's events: start and result, each once (docs/reference/events.md#kinds).
//!
//! Not here: running the call (`run/tool_calls.rs`), and the calls that a resumed stream has
//! already (`lifecycle/resume`).

use std::collections::HashSet;

use ars_agent::{Sandbox, ToolCall, ToolContent, ToolOutcome};
use ars_bot_tools::ToolOutput;
use ars_events::{COMMAND_MAX, EventBody, OUTPUT_MAX};
use serde_json::Value;

use super::driver::Driver;

/// Maximum characters of an unknown tool's name.
const UNKNOWN_NAME_MAX: usize = 200;
/// The tool with a command in the call and an exit code in the result.
pub(super) const SHELL_TOOL: &str = "bash";

/// A step's calls that the stream shows already, by id.
#[derive(Debug, Default)]
pub struct PublishedCalls {
    /// Ids of started calls.
    pub calls: HashSet<String>,
    /// Calls with a result. The conversation lacks a result that the process died before storing.
    pub results: HashSet<String>,
}

impl Driver<'_> {
    /// Publishes a call's start, unless the stream has it.
    pub(super) fn publish_call(&self, call: &ToolCall, published: &PublishedCalls) {
        if published.calls.contains(&call.call_id) {
            return;
        }
        let (summary, most) = match self.prepared.spec.tools.find(&call.name) {
            Some(tool) => (tool.summary(&call.input), tool.summary_max()),
            None => (call.name.clone(), UNKNOWN_NAME_MAX),
        };
        let command = (call.name == SHELL_TOOL)
            .then(|| call.input.get("command").and_then(Value::as_str))
            .flatten()
            .map(|command| self.redactor.clean(command, COMMAND_MAX));
        self.run.publish(EventBody::ToolCall {
            tool: call.name.clone(),
            summary: self.redactor.clean(&summary, most),
            call_id: Some(call.call_id.clone()),
            command,
        });
    }

    /// Publishes a call's result, unless the stream has it.
    pub(super) fn publish_result(
        &self,
        call: &ToolCall,
        output: &ToolOutput,
        published: &PublishedCalls,
    ) {
        if published.results.contains(&call.call_id) {
            return;
        }
        let text = output
            .raw
            .clone()
            .unwrap_or_else(|| text_of(&output.content));
        let text = self.redactor.clean(&text, usize::MAX);
        self.run.publish(EventBody::ToolResult {
            tool: call.name.clone(),
            ok: output.ok,
            summary: ars_events::result_summary(&text),
            call_id: Some(call.call_id.clone()),
            exit_code: output.exit_code.map(i64::from),
            output: (!text.is_empty()).then(|| ars_events::cap(&text, OUTPUT_MAX).into_owned()),
            infra: (output.sandbox == Sandbox::Failed).then_some(true),
        });
    }

    /// Answers a call without running it. The events are published as usual.
    pub(super) fn skip_call(
        &self,
        call: &ToolCall,
        output: ToolOutput,
        published: &PublishedCalls,
    ) -> ToolOutcome {
        self.publish_call(call, published);
        self.publish_result(call, &output, published);
        output.into_outcome(&call.call_id)
    }
}

/// Returns a result's text. Other content is named only.
pub(super) fn text_of(content: &[ToolContent]) -> String {
    let pieces = content.iter().map(|piece| match piece {
        ToolContent::Text { text } => text.clone(),
        ToolContent::Image { media_type, .. } | ToolContent::Document { media_type, .. } => {
            format!("({media_type})")
        }
    });
    pieces.collect::<Vec<_>>().join("\n")
}
