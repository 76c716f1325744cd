//! `submit_verdict`: submits a review's decision.
//!
//! The last call wins, so a repeated one changes nothing. Not here: the use of the decision (`review`).

use ars_agent::{Part, ToolSpec, Turn};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Tool, ToolContext, ToolOutput,
    args::{Args, one_line, peek},
};
use crate::review::{Decision, Verdict};

const NAME: &str = "submit_verdict";
/// Minimum hexadecimal digits of a commit.
const HEAD_MIN: usize = 7;
/// Maximum hexadecimal digits of a commit.
const HEAD_MAX: usize = 40;

/// The tool.
pub(super) struct SubmitVerdict;

#[async_trait]
impl Tool for SubmitVerdict {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.into(),
            description:
                "Hands over the decision of the review. Call it once, before the final answer; a later \
                          call takes the place of an earlier one."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "verdict": {"type": "string", "enum": Decision::WORDS},
                    "summary": {"type": "string", "description": "Why, in one sentence; it becomes the review's first line."},
                    "head": {"type": "string", "description": "The commit you reviewed: 7 to 40 hexadecimal digits, as `git rev-parse HEAD` prints it."}
                },
                "required": ["verdict", "summary"],
                "additionalProperties": false
            }),
        }
    }

    fn effects(&self) -> Effects {
        Effects::RerunSafe
    }

    fn summary(&self, input: &Value) -> String {
        one_line(&format!("{NAME} {}: {}", peek(input, "verdict"), peek(input, "summary")))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        let Some(slot) = context.run.verdict else {
            return ToolOutput::refused("This run gives no verdict.");
        };
        match read(input) {
            Ok(verdict) => {
                let dropped = verdict.head.is_none() && input.get("head").is_some_and(|head| !head.is_null());
                slot.submit(verdict);
                ToolOutput::text(match dropped {
                    true => "Taken, without `head`: it is not 7 to 40 hexadecimal digits.",
                    false => "Taken.",
                })
            }
            Err(refused) => refused,
        }
    }
}

/// Returns the verdict of a conversation's last accepted call, for a resumed review.
pub fn verdict_in(turns: &[Turn]) -> Option<Verdict> {
    let parts = || turns.iter().flat_map(|turn| &turn.parts);
    let was_taken = |id: &str| {
        parts().any(|part| matches!(part, Part::ToolResult { call_id, ok: true, .. } if call_id == id))
    };
    parts().rev().find_map(|part| match part {
        Part::ToolCall { call_id, name, input, .. } if name == NAME && was_taken(call_id) => read(input).ok(),
        _ => None,
    })
}

fn read(input: &Value) -> Result<Verdict, ToolOutput> {
    let args = Args::of(input, &["verdict", "summary", "head"])?;
    let words = Decision::WORDS.join("`, `");
    let decision = Decision::parse(args.text("verdict")?)
        .ok_or_else(|| ToolOutput::refused(format!("`verdict` must be one of `{words}`.")))?;
    let summary = args.text("summary")?.trim();
    if summary.is_empty() {
        return Err(ToolOutput::refused("`summary` must say why, in one sentence."));
    }
    // The verdict matters more than the commit, so an invalid commit is dropped.
    let head = input.get("head").and_then(Value::as_str).map(str::trim).filter(|head| is_commit(head));
    Ok(Verdict { decision, summary: summary.to_owned(), head: head.map(str::to_ascii_lowercase) })
}

fn is_commit(text: &str) -> bool {
    (HEAD_MIN..=HEAD_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
#[path = "submit_verdict_tests.rs"]
mod tests;
