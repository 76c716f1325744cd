//! What an answer of the model says, and what is said of it.

use crate::message::{Part, StopReason, ToolContent};

use super::protocol::ToolCall;

/// Most characters kept of an error, as of a result's summary (bot supplement section 9).
const ERROR_CHARS: usize = 200;

/// The answer of a run that ended of itself; never empty.
pub(super) fn final_answer(prose: String, stop: &StopReason) -> String {
    let answer = last_words(prose, stop);
    if answer.is_empty() { "The model ended the run without an answer.".to_owned() } else { answer }
}

/// What the model said last. Refusal and truncation are said plainly; empty when there is nothing to say.
pub(super) fn last_words(prose: String, stop: &StopReason) -> String {
    let notice = match stop {
        StopReason::Refusal => Some("⚠️ The model declined to go on with this request."),
        StopReason::MaxTokens => Some("⚠️ The answer was cut at the model's output limit."),
        _ => None,
    };
    match notice {
        Some(notice) if prose.is_empty() => notice.to_owned(),
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
        Part::ToolCall { call_id, name, input, .. } => {
            Some(ToolCall { call_id: call_id.clone(), name: name.clone(), input: input.clone() })
        }
        _ => None,
    });
    calls.collect()
}

/// The first line of a result, short enough for a note, an answer and a step record.
pub(super) fn first_line(content: &[ToolContent]) -> String {
    let first = content.iter().find_map(|piece| match piece {
        ToolContent::Text { text } => text.lines().next(),
        _ => None,
    });
    ars_events::cap(first.unwrap_or_default(), ERROR_CHARS).into_owned()
}
