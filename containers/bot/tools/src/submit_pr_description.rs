//! `submit_pr_description`: submits a change's description for the pull request.
//!
//! The last valid call wins, so a repeated call changes nothing. Not here: the pull request, which
//! code opens and edits after the run.

use ars_agent::{Part, ToolSpec, Turn};
use ars_codehost::pull_request::Description;
use ars_events::EventBody;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{one_line, peek},
};

const NAME: &str = "submit_pr_description";

pub(super) struct SubmitPrDescription;

#[async_trait]
impl Tool for SubmitPrDescription {
    fn spec(&self) -> ToolSpec {
        let text = |description: &str| json!({"type": "string", "description": description});
        let list = |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
        ToolSpec {
            name: NAME.into(),
            description: "Hands over the description of the change. After the run the service pushes the commits and \
                          opens a draft pull request with it, or edits the open one. A later call takes the place of \
                          an earlier one."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "title": text("One line, at most 200 characters."),
                    "tldr": text("The change in one or two sentences."),
                    "whatWhy": text("What changes and why, in Markdown."),
                    "tour": {
                        "type": "array",
                        "description": "A walk through the change, in the order to read it.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "title": text("The step."),
                                "description": text("What happens there."),
                                "lookFor": text("What a reader should check."),
                                "anchor": {
                                    "type": "object",
                                    "properties": {
                                        "path": text("A file of the change."),
                                        "from": {"type": "integer", "minimum": 1},
                                        "to": {"type": "integer", "minimum": 1}
                                    },
                                    "required": ["path", "from", "to"],
                                    "additionalProperties": false
                                }
                            },
                            "required": ["title", "description", "anchor"],
                            "additionalProperties": false
                        }
                    },
                    "remaining": list("Work that remains."),
                    "decisions": list("Decisions that a reader should know."),
                    "risks": list("Risks."),
                    "validation": text("How you checked the change. Test results are added by the service.")
                },
                "required": ["title", "tldr", "whatWhy"],
                "additionalProperties": false
            }),
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[Need::CodeHost]
    }

    fn effects(&self) -> Effects {
        Effects::RerunSafe
    }

    fn summary(&self, input: &Value) -> String {
        one_line(&format!("{NAME} {}", peek(input, "title")))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        let Some(slot) = context.run.description else {
            return ToolOutput::refused("This run opens no pull request.");
        };
        // The model may have read a secret, and the description is posted.
        let mut input = input.clone();
        hide(&mut input, context.run.hide);
        match Description::parse(&input) {
            Ok(description) => {
                slot.submit(description);
                if let Value::Object(description) = input {
                    (context.run.publish)(EventBody::PrDescription { description });
                }
                ToolOutput::text("Taken.")
            }
            Err(invalid) => ToolOutput::refused(format!("Not taken: {invalid}.")),
        }
    }
}

/// Removes secrets from every text in a value.
fn hide(value: &mut Value, hidden: &(dyn Fn(String) -> String + Send + Sync)) {
    match value {
        Value::String(text) => *text = hidden(std::mem::take(text)),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| hide(entry, hidden)),
        Value::Object(fields) => fields.values_mut().for_each(|field| hide(field, hidden)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the description from a conversation's last accepted call, for a resumed run.
pub fn description_in(turns: &[Turn]) -> Option<Description> {
    let parts = || turns.iter().flat_map(|turn| &turn.parts);
    let was_taken = |id: &str| {
        parts()
            .any(|part| matches!(part, Part::ToolResult { call_id, ok: true, .. } if call_id == id))
    };
    parts().rev().find_map(|part| match part {
        Part::ToolCall {
            call_id,
            name,
            input,
            ..
        } if name == NAME && was_taken(call_id) => Description::parse(input).ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{DescriptionSlot, RunFacilities, tests::said};

    #[tokio::test]
    async fn last_valid_description_counts_without_secrets() {
        let slot = DescriptionSlot::default();
        let cancel = CancellationToken::new();
        let hide = |text: String| text.replace("canary", "[redacted]");
        let context = ToolContext {
            workspace: None,
            web: None,
            remaining: Duration::from_secs(60),
            cancel: &cancel,
            run: RunFacilities {
                description: Some(&slot),
                hide: &hide,
                ..RunFacilities::bare("coding")
            },
        };
        let valid = json!({"title": "Fix", "tldr": "canary", "whatWhy": "b"});
        assert!(SubmitPrDescription.run(context, &valid).await.ok);
        let refused = SubmitPrDescription
            .run(context, &json!({"title": "t", "merge": true}))
            .await;
        assert!(
            !refused.ok && said(&refused).contains("unknown field"),
            "{}",
            said(&refused)
        );
        let kept = slot.current().unwrap();
        assert_eq!(
            (kept.title.as_str(), kept.tldr.as_str()),
            ("Fix", "[redacted]")
        );
    }
}
