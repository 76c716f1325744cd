//! What the stream tells of a call of a tool: that it begins, and what came of it, each once (bot supplement section 9).
//!
//! Not here: running the call (`run/tool_calls.rs`), and what the stream has already (`resume/since.rs`).

use std::collections::HashSet;

use ars_agent::{Sandbox, ToolCall, ToolContent, ToolOutcome};
use ars_bot_tools::ToolOutput;
use ars_events::{COMMAND_MAX, EventBody, OUTPUT_MAX};
use serde_json::Value;

use super::driver::Driver;

/// Most characters of the name of a tool that there is not (bot supplement section 9, the summary of a call).
const UNKNOWN_NAME_MAX: usize = 200;
/// The tool whose calls carry their command and whose results carry an exit code.
const SHELL_TOOL: &str = "bash";

/// What the stream tells of a step's calls already, by their ids: each begins once there, and ends once.
#[derive(Debug, Default)]
pub struct Told {
    /// Those that have begun.
    pub calls: HashSet<String>,
    /// Those whose result is there. The conversation may lack it: the process died before it could store it.
    pub results: HashSet<String>,
}

impl Driver<'_> {
    /// Says that a call begins, if the stream does not tell of it yet.
    pub(super) fn publish_call(&self, call: &ToolCall, told: &Told) {
        if told.calls.contains(&call.call_id) {
            return;
        }
        let (summary, most) = match self.assignment.tools.find(&call.name) {
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

    /// Says what came of a call, if the stream does not tell of it yet.
    pub(super) fn publish_result(&self, call: &ToolCall, output: &ToolOutput, told: &Told) {
        if told.results.contains(&call.call_id) {
            return;
        }
        let text = text_of(&output.content);
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

    /// Answers a call without running it: the stream tells of it like of any other.
    pub(super) fn leave_out(&self, call: &ToolCall, output: ToolOutput, told: &Told) -> ToolOutcome {
        self.publish_call(call, told);
        self.publish_result(call, &output, told);
        output.into_outcome(&call.call_id)
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
