//! Texts for the model's answers and for errors.

use crate::message::{Part, StopReason, ToolContent};

use super::protocol::ToolCall;

/// Maximum length of an error in characters.
const ERROR_CHARS: usize = 200;
/// Most characters shown from a refusal's reason.
const REASON_CHARS: usize = 1_000;
/// Notice that the model refused.
const DECLINED: &str = "⚠️ The model declined to go on with this request.";

/// Returns the answer when the model ended the run, never empty.
pub(super) fn final_answer(prose: String, stop: &StopReason) -> String {
    let answer = last_words(prose, stop);
    if answer.is_empty() {
        "The model ended the run without an answer.".to_owned()
    } else {
        answer
    }
}

/// Returns the model's last text. Names a refusal or a truncation. Empty if there is no text.
pub(super) fn last_words(prose: String, stop: &StopReason) -> String {
    let notice = match stop {
        StopReason::Refusal(None) => Some(DECLINED.to_owned()),
        StopReason::Refusal(Some(reason)) => Some(format!(
            "{DECLINED} The reason it gave: {}",
            ars_events::cap(reason, REASON_CHARS)
        )),
        StopReason::MaxTokens => {
            Some("⚠️ The answer was cut at the model's output limit.".to_owned())
        }
        _ => None,
    };
    match notice {
        Some(notice) if prose.is_empty() => notice,
        Some(notice) => format!("{prose}\n\n{notice}"),
        None => prose,
    }
}

pub(super) fn prose(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<String>().trim().to_owned()
}

pub(super) fn calls(parts: &[Part]) -> Vec<ToolCall> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall {
            call_id,
            name,
            input,
            ..
        } => Some(ToolCall {
            call_id: call_id.clone(),
            name: name.clone(),
            input: input.clone(),
        }),
        _ => None,
    });
    calls.collect()
}

/// Returns a result's first line, short enough for a note, an answer and a step record.
pub(super) fn first_line(content: &[ToolContent]) -> String {
    let first = content.iter().find_map(|piece| match piece {
        ToolContent::Text { text } => text.lines().next(),
        _ => None,
    });
    ars_events::cap(first.unwrap_or_default(), ERROR_CHARS).into_owned()
}
