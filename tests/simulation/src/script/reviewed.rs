//! A review that approves, looks again, and requests changes. The calls have the same ids in every
//! turn, as with some providers.

use ars_agent::{ModelTurn, Part, StopReason, Turn, Usage};
use serde_json::{Value, json};

use super::{call, message_ids, steps_made};

/// Word in a request for the review.
pub(crate) const REVIEWED: &str = "reviewed";

pub(super) fn answer(turns: &[Turn], may_call_tools: bool) -> ModelTurn {
    let step = steps_made(turns);
    let calls = if may_call_tools {
        calls(step)
    } else {
        Vec::new()
    };
    if calls.is_empty() {
        let parts = vec![Part::text(format!(
            "Findings. Heard: {}",
            message_ids(turns)
        ))];
        return ModelTurn {
            parts,
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        };
    }
    let calls = calls.into_iter().enumerate();
    let parts = calls
        .map(|(index, (name, input))| call(format!("c{index}"), name, input))
        .collect();
    ModelTurn {
        parts,
        stop: StopReason::ToolUse,
        usage: Usage::default(),
    }
}

fn calls(step: usize) -> Vec<(&'static str, Value)> {
    let verdict = |verdict: &str, summary: &str| {
        (
            "submit_verdict",
            json!({ "verdict": verdict, "summary": summary }),
        )
    };
    let read = |path: &str| ("read_file", json!({ "path": path }));
    match step {
        0 => vec![("diff_digest", json!({})), ("list_files", json!({}))],
        1 => vec![read("a.txt"), read("b.txt")],
        2 => vec![verdict("approve", "nothing found")],
        3 => vec![read("a.txt")],
        4 => vec![
            verdict("request_changes", "a lock is held too long"),
            read("b.txt"),
        ],
        _ => Vec::new(),
    }
}
