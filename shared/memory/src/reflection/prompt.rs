//! What the model is asked (state-worker supplement section 12, row "reflection call").
//!
//! Everything it is shown was written by others. It stands between markers that it cannot write itself, because `<`,
//! `>` and `&` are escaped. Not here: removing secrets, which is done before.

use ars_wire::memory::MemoryRecord;

use crate::reading::inert;

/// Records of one scope that are shown.
pub const MAX_SHOWN: usize = 8;
/// Characters of a shown record: enough to tell what it is about, so that the longest ones do not crowd out the call.
const MAX_SHOWN_CHARS: usize = 500;
/// Characters of the conversation, its end.
const MAX_CONVERSATION_CHARS: usize = 24_000;

/// What tells the model its task.
pub fn system() -> &'static str {
    include_str!("system.md").trim_end()
}

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// By whom.
    pub by: Speaker,
    /// What.
    pub text: String,
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// Whoever asked.
    User,
    /// The agent.
    Assistant,
    /// The agent, in calling a tool.
    Call,
}

impl Speaker {
    const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Call => "tool call",
        }
    }
}

/// The one message: what is remembered already, and the end of the conversation, which is read from its end only as far
/// as it is shown.
pub fn request(shown: &[MemoryRecord], conversation: impl DoubleEndedIterator<Item = Said>) -> String {
    let note = |record: &MemoryRecord| {
        format!("- [{}] {}\n", inert(&record.id), beginning(&inert(&record.text), MAX_SHOWN_CHARS))
    };
    let notes: String = shown.iter().map(note).collect();
    format!(
        "Remembered already:\n<notes>\n{notes}</notes>\n\nThe conversation, or its end:\n<conversation>\n{}</conversation>",
        tail(conversation)
    )
}

fn tail(conversation: impl DoubleEndedIterator<Item = Said>) -> String {
    let mut left = MAX_CONVERSATION_CHARS;
    let mut newest_first = Vec::new();
    for Said { by, text } in conversation.rev() {
        let (opening, closing) = (format!("<turn by=\"{}\">\n", by.as_str()), "\n</turn>\n");
        let Some(room) = left.checked_sub(opening.len() + closing.len()).filter(|room| *room > 0) else {
            break;
        };
        let text = escaped(text.trim());
        let length = text.chars().count();
        newest_first.push(format!("{opening}{}{closing}", end(&text, length.saturating_sub(room))));
        match room.checked_sub(length) {
            Some(rest) => left = rest,
            None => break,
        }
    }
    newest_first.into_iter().rev().collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..at])
}

/// The text without its first characters.
fn end(text: &str, without: usize) -> &str {
    text.char_indices().nth(without).map_or("", |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::record;

    fn said(by: Speaker, text: impl Into<String>) -> Said {
        Said { by, text: text.into() }
    }

    fn asked(shown: &[MemoryRecord], conversation: Vec<Said>) -> String {
        request(shown, conversation.into_iter())
    }

    #[test]
    fn the_task_fixes_the_form_of_the_answer() {
        for word in
            ["JSON", "`facts`", "`confidence`", "`keywords`", "`audience`", "`supersedes`", "`summary`"]
        {
            assert!(system().contains(word), "{word}");
        }
    }

    #[test]
    fn notes_come_with_ids_and_turns_in_their_order() {
        let shown = [record("org:acme", 3, "CI runs nightly"), record("user:ann", 0, "Likes\ntabs")];
        let conversation = vec![
            said(Speaker::User, "Why is CI red?\n"),
            said(Speaker::Call, "bash {\"command\":\"make\"}"),
            said(Speaker::Assistant, "The runner is <offline>."),
        ];
        let expected = "Remembered already:\n<notes>\n- [mem:org:acme:3] CI runs nightly\n\
            - [mem:user:ann:0] Likes tabs\n</notes>\n\nThe conversation, or its end:\n<conversation>\n\
            <turn by=\"user\">\nWhy is CI red?\n</turn>\n\
            <turn by=\"tool call\">\nbash {\"command\":\"make\"}\n</turn>\n\
            <turn by=\"assistant\">\nThe runner is &lt;offline&gt;.\n</turn>\n</conversation>";
        assert_eq!(asked(&shown, conversation), expected);
    }

    #[test]
    fn only_the_end_of_a_long_conversation_is_shown_and_the_rest_is_not_even_looked_at() {
        let long = (0..3).map(|n| {
            assert!(n > 0, "the first turn is beyond the tail");
            said(Speaker::User, format!("{}end of {n}", "é".repeat(23_000)))
        });
        let request = request(&[], long);
        assert!(request.contains("éend of 1\n</turn>") && request.contains("éend of 2\n</turn>"));
        let conversation = request.split_once("<conversation>\n").unwrap().1;
        let conversation = conversation.strip_suffix("</conversation>").unwrap();
        assert_eq!(conversation.chars().count(), MAX_CONVERSATION_CHARS);
    }

    #[test]
    fn a_long_note_is_shown_by_its_beginning() {
        let request = asked(&[record("org:acme", 0, &"é".repeat(4000))], vec![]);
        assert_eq!(request.matches('é').count(), MAX_SHOWN_CHARS);
    }

    proptest! {
        #[test]
        fn nothing_shown_can_write_a_marker(
            pieces in prop::collection::vec(
                prop_oneof![
                    Just("</turn>".to_owned()), Just("<turn by=\"user\">".to_owned()),
                    Just("</conversation>".to_owned()), Just("</notes>".to_owned()), Just("\n".to_owned()),
                    Just("&lt;".to_owned()), "[\\s\\S]{0,4}",
                ],
                0..16,
            )
        ) {
            let text = pieces.concat();
            let shown = [record("org:acme", 0, &text)];
            let request = asked(&shown, vec![said(Speaker::User, text.clone()), said(Speaker::Assistant, text)]);
            // Two markers each for the notes, the conversation and both turns.
            prop_assert_eq!((request.matches('<').count(), request.matches('>').count()), (8, 8));
        }

        #[test]
        fn the_tail_is_never_longer_than_allowed(
            texts in prop::collection::vec((0_usize..9_000, prop_oneof![Just('a'), Just('é'), Just('<')]), 0..8)
        ) {
            let turns: Vec<_> =
                texts.iter().map(|(n, c)| said(Speaker::User, c.to_string().repeat(*n))).collect();
            prop_assert!(tail(turns.into_iter()).chars().count() <= MAX_CONVERSATION_CHARS);
        }
    }
}
