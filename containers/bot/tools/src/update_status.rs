//! `update_status`: shows the requester a checklist.
//!
//! The checklist reaches the requester through the channel and viewers through the call's event, both complete. The
//! tool changes nothing else.

use ars_agent::ToolSpec;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, peek},
};

/// Maximum characters of a checklist in the call's event, which shows it whole, not only the first
/// line.
const CHECKLIST_MAX: usize = 4_000;

pub(super) struct UpdateStatus;

#[async_trait]
impl Tool for UpdateStatus {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "update_status".into(),
            description:
                "Shows the requester the pending, started and finished steps. Does not use up a turn.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "checklist": {"type": "string", "description": "One item a line: `[ ]` pending, `[~]` started, `[x]` done."}
                },
                "required": ["checklist"],
                "additionalProperties": false
            }),
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn effects(&self) -> Effects {
        Effects::RerunSafe
    }

    fn summary(&self, input: &Value) -> String {
        format!(
            "update_status {}",
            peek(input, "checklist")
                .lines()
                .collect::<Vec<_>>()
                .join(" · ")
        )
    }

    fn summary_max(&self) -> usize {
        CHECKLIST_MAX
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match Args::parse(input, &["checklist"]).and_then(|args| args.text("checklist")) {
            Ok(text) if text.trim().is_empty() => {
                ToolOutput::text("Ignored: the checklist is empty.")
            }
            Ok(text) => {
                (context.run.status)(text.trim());
                ToolOutput::text("Shown.")
            }
            Err(refused) => refused,
        }
    }
}
