//! A run's conversation as it is reflected on.
//!
//! What tools answered is left out: it is the text of strangers, pages above all, and a page that asks to be remembered
//! must not be heard. What the agent made of it, it says itself. What memory said is left out too, where the agent
//! quotes it. Nothing of the system prompt is here.

use ars_agent::{Part, Role, Turn};
use ars_events::{Redactor, cap};
use ars_memory::{
    reading::inert,
    reflection::{Said, Speaker},
};
use ars_wire::memory::MemoryRecord;

/// Characters of a call: enough to see what was done.
const MAX_CALL_CHARS: usize = 300;
/// Characters of a record that make its text in an answer a quotation: shorter ones stand there by accident.
const MIN_QUOTED_CHARS: usize = 16;
/// Stands for a quotation.
const QUOTED: &str = "[a note]";

/// What was said, oldest first, without secrets. Each part is looked at when it is asked for.
pub(super) fn said<'a>(
    turns: &'a [Turn],
    recalled: &'a [MemoryRecord],
    redactor: &'a Redactor,
) -> impl DoubleEndedIterator<Item = Said> + 'a {
    let of_turn = move |turn: &'a Turn| {
        turn.parts.iter().filter_map(move |part| of_part(turn.role, part, recalled, redactor))
    };
    turns.iter().flat_map(of_turn)
}

fn of_part(role: Role, part: &Part, recalled: &[MemoryRecord], redactor: &Redactor) -> Option<Said> {
    let (by, text) = match (part, role) {
        (Part::Text { text, .. }, Role::User) => (Speaker::User, redactor.clean(text, usize::MAX)),
        (Part::Text { text, .. }, Role::Assistant) => {
            (Speaker::Assistant, unquoted(redactor.clean(text, usize::MAX), recalled))
        }
        (Part::ToolCall { name, input, .. }, _) => {
            // Cleaned whole: half a secret has no shape.
            let call = redactor.clean(&format!("{name} {input}"), usize::MAX);
            (Speaker::Call, cap(&unquoted(call, recalled), MAX_CALL_CHARS).into_owned())
        }
        (
            Part::ToolResult { .. } | Part::Image { .. } | Part::Document { .. } | Part::Opaque { .. },
            Role::User | Role::Assistant,
        ) => return None,
    };
    (!text.trim().is_empty()).then_some(Said { by, text })
}

/// The text without the records in it, as they are or as the prompt showed them.
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

/// What the user said, one text after the other.
pub(super) fn asked(turns: &[Turn]) -> String {
    let turns = turns.iter().filter(|turn| turn.role == Role::User);
    turns.flat_map(|turn| &turn.parts).filter_map(prose).collect::<Vec<_>>().join("\n")
}

/// A part's prose.
pub(super) fn prose(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text, .. } => Some(text),
        Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Image { .. }
        | Part::Document { .. }
        | Part::Opaque { .. } => None,
    }
}
