//! A run's conversation as the reflection prompt shows it.
//!
//! Tool results are left out, because a web page must not write memory. The agent's own text
//! includes the conclusions from them. Memory quotations and the system prompt are left out too.

use ars_agent::{Part, Role, Turn};
use ars_events::{Redactor, cap};
use ars_memory::{
    reading::inert,
    reflection::{Speaker, Utterance},
};
use ars_wire::memory::MemoryRecord;

/// Maximum characters per call, enough to recognize it.
const MAX_CALL_CHARS: usize = 300;
/// Minimum characters of a quoted record in an answer, because shorter quotes match by accident.
const MIN_QUOTED_CHARS: usize = 16;
/// Stands in for a quotation.
const QUOTED: &str = "[a note]";

/// Returns the conversation's redacted parts lazily, oldest first.
pub(super) fn utterances<'a>(
    turns: &'a [Turn],
    recalled: &'a [MemoryRecord],
    redactor: &'a Redactor,
) -> impl DoubleEndedIterator<Item = Utterance> + 'a {
    let of_turn = move |turn: &'a Turn| {
        turn.parts
            .iter()
            .filter_map(move |part| of_part(turn.role, part, recalled, redactor))
    };
    turns.iter().flat_map(of_turn)
}

fn of_part(
    role: Role,
    part: &Part,
    recalled: &[MemoryRecord],
    redactor: &Redactor,
) -> Option<Utterance> {
    let (speaker, text) = match (part, role) {
        (Part::Text { text, .. }, Role::User) => (Speaker::User, redactor.clean(text, usize::MAX)),
        (Part::Text { text, .. }, Role::Assistant) => (
            Speaker::Assistant,
            unquoted(redactor.clean(text, usize::MAX), recalled),
        ),
        (Part::ToolCall { name, input, .. }, _) => {
            // Redacted before the cut, because a partial secret matches no pattern.
            let call = redactor.clean(&format!("{name} {input}"), usize::MAX);
            (
                Speaker::Call,
                cap(&unquoted(call, recalled), MAX_CALL_CHARS).into_owned(),
            )
        }
        (
            Part::ToolResult { .. }
            | Part::Image { .. }
            | Part::Document { .. }
            | Part::Opaque { .. },
            Role::User | Role::Assistant,
        ) => return None,
    };
    (!text.trim().is_empty()).then_some(Utterance { speaker, text })
}

/// Replaces quotations from recalled records, verbatim or as the prompt shows them.
fn unquoted(mut text: String, recalled: &[MemoryRecord]) -> String {
    for record in recalled {
        for quoted in [record.text.trim().to_owned(), inert(&record.text)] {
            if quoted.chars().nth(MIN_QUOTED_CHARS - 1).is_some() && text.contains(&quoted) {
                text = text.replace(&quoted, QUOTED);
            }
        }
    }
    text
}

/// Returns the user's texts, joined.
pub(super) fn user_text(turns: &[Turn]) -> String {
    let turns = turns.iter().filter(|turn| turn.role == Role::User);
    turns
        .flat_map(|turn| &turn.parts)
        .filter_map(prose)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns a part's text.
pub(crate) fn prose(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text, .. } => Some(text),
        Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Image { .. }
        | Part::Document { .. }
        | Part::Opaque { .. } => None,
    }
}
