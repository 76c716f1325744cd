//! The scripted model: the canonical run with twelve model calls, and the other stories' runs.
//! Anything else gets a short answer.
//!
//! The answers depend only on the conversation, so a resumed run continues where the conversation
//! ends.

pub(crate) mod bounded;
pub(crate) mod reviewed;

use std::collections::BTreeSet;

use ars_agent::{ModelTurn, Part, Role, StopReason, Turn, Usage};
use serde_json::{Map, Value, json};

/// Word in a request for the canonical run.
pub(crate) const CANONICAL: &str = "canonical";
/// Model calls in the canonical run that request tools.
pub(crate) const TOOL_TURNS: usize = 11;
/// The model call during which a follow-up is sent to the thread.
pub(crate) const FOLLOW_UP_AT: usize = 8;

/// The model that reflects on runs.
pub(crate) const CHEAP: &str = "cheap";

/// Returns a reflection's findings, different each time so that none is a duplicate.
pub(crate) fn reflection(number: u64) -> ModelTurn {
    let text = format!("The ledger is long, as call {number} says.");
    let fact = json!({ "text": text, "confidence": 0.9, "keywords": ["ledger"] });
    let answer = json!({ "facts": [fact] }).to_string();
    turn(vec![Part::text(answer)], StopReason::EndTurn)
}

/// Returns how many conversation turns have tool calls.
pub(crate) fn steps_made(turns: &[Turn]) -> usize {
    let makes_calls = |turn: &&Turn| {
        turn.parts
            .iter()
            .any(|part| matches!(part, Part::ToolCall { .. }))
    };
    turns.iter().filter(makes_calls).count()
}

/// Returns a conversation's request: the message it answers.
pub(crate) fn request(turns: &[Turn]) -> String {
    texts(turns.iter().take(1)).join(" ")
}

/// Returns whether the script sends a follow-up at this point.
pub(crate) fn is_followed_up(turns: &[Turn]) -> bool {
    let request = request(turns);
    let is_canonical = request.contains(CANONICAL) && ids(&request).iter().any(|id| id == "m0");
    is_canonical && steps_made(turns) == FOLLOW_UP_AT
}

/// Returns all user message ids, without duplicates.
fn message_ids(turns: &[Turn]) -> String {
    let mut message_ids = ids(&texts(turns).join(" "));
    let mut known = BTreeSet::new();
    message_ids.retain(|id| known.insert(id.clone()));
    message_ids.join(" ")
}

/// Returns the message ids (`m0`, `f1`) in a text, in order.
pub(crate) fn ids(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_id = |word: &&str| {
        word.len() > 1
            && word.starts_with(['m', 'f'])
            && word[1..].bytes().all(|byte| byte.is_ascii_digit())
    };
    words.filter(is_id).map(str::to_owned).collect()
}

/// Returns the model's next turn.
pub(crate) fn answer(turns: &[Turn], may_call_tools: bool) -> ModelTurn {
    let request = request(turns);
    if request.contains(bounded::BOUNDED) {
        return bounded::answer(turns, may_call_tools);
    }
    if request.contains(reviewed::REVIEWED) {
        return reviewed::answer(turns, may_call_tools);
    }
    let step = steps_made(turns);
    if !may_call_tools || !request.contains(CANONICAL) || step >= TOOL_TURNS {
        return turn(
            vec![Part::text(format!("Done. Heard: {}", message_ids(turns)))],
            StopReason::EndTurn,
        );
    }
    let mut parts = Vec::new();
    if step % 4 == 1 {
        parts.push(Part::text(format!("Now step {step}.")));
    }
    let calls = calls(step).into_iter().enumerate();
    parts.extend(calls.map(|(index, (name, input))| call(call_id(step, index), name, input)));
    turn(parts, StopReason::ToolUse)
}

fn call(call_id: String, name: &str, input: Value) -> Part {
    Part::ToolCall {
        call_id,
        name: name.to_owned(),
        input,
        extra: Map::new(),
    }
}

fn call_id(step: usize, index: usize) -> String {
    format!("t{step}c{index}")
}

fn calls(step: usize) -> Vec<(&'static str, Value)> {
    let bash = |index| {
        (
            "bash",
            json!({ "command": format!("effect {}", call_id(step, index)) }),
        )
    };
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let write = |index| {
        let content = format!("effect {}", call_id(step, index));
        (
            "write_file",
            json!({ "path": "written.txt", "content": content }),
        )
    };
    match step {
        0 => vec![read("a.txt"), read("b.txt"), ("list_files", json!({}))],
        1 => vec![bash(0)],
        2 => vec![write(0)],
        3 => vec![("update_status", json!({ "checklist": "[~] half of it" }))],
        4 => vec![("no_such_tool", json!({ "path": "a.txt" }))],
        5 => vec![read("a.txt"), bash(1), read("b.txt")],
        6 => vec![bash(0), bash(1)],
        7 => vec![("search", json!({ "pattern": "x" })), write(1)],
        8 => vec![bash(0)],
        9 => vec![(
            "edit_file",
            json!({ "path": "edited.txt", "old": "alpha", "new": format!("effect {}", call_id(step, 0)) }),
        )],
        _ => vec![bash(0)],
    }
}

fn texts<'a>(turns: impl IntoIterator<Item = &'a Turn>) -> Vec<String> {
    let parts = turns
        .into_iter()
        .filter(|turn| turn.role == Role::User)
        .flat_map(|turn| &turn.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

fn turn(parts: Vec<Part>, stop: StopReason) -> ModelTurn {
    ModelTurn {
        parts,
        stop,
        usage: Usage::default(),
    }
}
