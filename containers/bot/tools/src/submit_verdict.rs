//! `submit_verdict`: submits a review's decision.
//!
//! The last call wins, so a repeated call changes nothing. Not here: how the decision is used
//! (`review`).

use ars_agent::{Part, ToolSpec, Turn};
use ars_codehost::{diff::Side, review::Finding};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, one_line, peek},
};
use crate::review::{Decision, Remarks, Verdict};

const NAME: &str = "submit_verdict";
/// Minimum hexadecimal digits in a commit.
const HEAD_MIN: usize = 7;
/// Maximum hexadecimal digits in a commit.
const HEAD_MAX: usize = 40;

/// Maximum line findings per verdict.
const MAX_FINDINGS: usize = 200;

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
                    "head": {"type": "string", "description": "The commit you reviewed: 7 to 40 hexadecimal digits, as `git rev-parse HEAD` prints it."},
                    "findings": {
                        "type": "array",
                        "description": "Findings on lines of the change, posted there.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "path": {"type": "string"},
                                "line": {"type": "integer", "minimum": 1, "description": "The line, or the last one."},
                                "start": {"type": "integer", "minimum": 1, "description": "The first line of several."},
                                "side": {"type": "string", "enum": ["left", "right"], "description": "`left` for a removed line."},
                                "text": {"type": "string", "description": "The finding, in Markdown."}
                            },
                            "required": ["path", "line", "text"],
                            "additionalProperties": false
                        }
                    },
                    "fixed": {"type": "array", "items": {"type": "string"}, "description": "Ids of earlier findings that you verified as fixed at this commit."}
                },
                "required": ["verdict", "summary"],
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
        one_line(&format!(
            "{NAME} {}: {}",
            peek(input, "verdict"),
            peek(input, "summary")
        ))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        let Some(slot) = context.run.verdict else {
            return ToolOutput::refused("This run gives no verdict.");
        };
        match read(input) {
            Ok((verdict, remarks)) => {
                let dropped =
                    verdict.head.is_none() && input.get("head").is_some_and(|head| !head.is_null());
                slot.submit(verdict, without_secrets(remarks, context.run.hide));
                ToolOutput::text(match dropped {
                    true => "Taken, without `head`: it is not 7 to 40 hexadecimal digits.",
                    false => "Taken.",
                })
            }
            Err(refused) => refused,
        }
    }
}

/// Returns the verdict from a conversation's last accepted call, for a resumed review.
pub fn verdict_in(turns: &[Turn]) -> Option<(Verdict, Remarks)> {
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
        } if name == NAME && was_taken(call_id) => read(input).ok(),
        _ => None,
    })
}

fn read(input: &Value) -> Result<(Verdict, Remarks), ToolOutput> {
    let args = Args::parse(input, &["verdict", "summary", "head", "findings", "fixed"])?;
    let words = Decision::WORDS.join("`, `");
    let decision = Decision::parse(args.text("verdict")?)
        .ok_or_else(|| ToolOutput::refused(format!("`verdict` must be one of `{words}`.")))?;
    let summary = args.text("summary")?.trim();
    if summary.is_empty() {
        return Err(ToolOutput::refused(
            "`summary` must say why, in one sentence.",
        ));
    }
    // The verdict matters more than the commit, so an invalid commit is dropped.
    let head = input
        .get("head")
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|head| is_commit(head));
    let verdict = Verdict {
        decision,
        summary: summary.to_owned(),
        head: head.map(str::to_ascii_lowercase),
    };
    Ok((
        verdict,
        Remarks {
            findings: findings(input)?,
            fixed: args.texts("fixed")?.unwrap_or_default(),
        },
    ))
}

/// A finding as the model submits it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmittedFinding {
    path: String,
    line: u64,
    start: Option<u64>,
    #[serde(default)]
    side: SubmittedSide,
    text: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SubmittedSide {
    Left,
    #[default]
    Right,
}

fn findings(input: &Value) -> Result<Vec<Finding>, ToolOutput> {
    let submitted = input.get("findings").filter(|findings| !findings.is_null());
    let Some(submitted) = submitted else {
        return Ok(Vec::new());
    };
    let wrong = "`findings` must be a list of objects with `path`, `line`, `text`, and optionally `start` and `side`.";
    let parsed: Vec<SubmittedFinding> =
        Deserialize::deserialize(submitted).map_err(|_| ToolOutput::refused(wrong))?;
    if parsed.len() > MAX_FINDINGS {
        return Err(ToolOutput::refused(format!(
            "`findings` must have at most {MAX_FINDINGS} entries."
        )));
    }
    let finding = |one: SubmittedFinding| Finding {
        path: one.path,
        // A single line is no range.
        start: one.start.filter(|start| *start != one.line),
        line: one.line,
        side: match one.side {
            SubmittedSide::Left => Side::Left,
            SubmittedSide::Right => Side::Right,
        },
        text: one.text,
    };
    Ok(parsed.into_iter().map(finding).collect())
}

/// Removes the installation's secrets, which the model may have read.
fn without_secrets(
    mut remarks: Remarks,
    hide: &(dyn Fn(String) -> String + Send + Sync),
) -> Remarks {
    for finding in &mut remarks.findings {
        finding.text = hide(std::mem::take(&mut finding.text));
    }
    remarks
}

fn is_commit(text: &str) -> bool {
    (HEAD_MIN..=HEAD_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
#[path = "submit_verdict_tests.rs"]
mod tests;
