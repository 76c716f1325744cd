//! Tool output too long for the conversation: kept where the caller says, and shown by its head and its tail.
//!
//! Not here: keeping it. The caller asks [`is_oversized`], writes the whole text to a place the model can read, and
//! gives the model what [`referenced`] makes of it.

/// Of what is shown, the share that comes from the beginning, in percent. The end of an output tells how it ended, its
/// beginning what it is; errors stand at either.
const HEAD_PERCENT: usize = 60;

/// The text has more characters than may stand in the conversation.
pub fn is_oversized(text: &str, max_chars: usize) -> bool {
    text.len() > max_chars && text.chars().nth(max_chars).is_some()
}

/// The head and the tail of an oversized text, `max_chars` characters together, with a line between them that says
/// where the whole is.
pub fn referenced(text: &str, max_chars: usize, path: &str) -> String {
    let total = text.chars().count();
    let head = max_chars / 100 * HEAD_PERCENT + max_chars % 100 * HEAD_PERCENT / 100;
    let tail = max_chars - head;
    if total <= max_chars {
        return text.to_owned();
    }
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let left_out = total - max_chars;
    format!(
        "{}\n[{left_out} of {total} characters left out here; the whole output is in {path}]\n{}",
        &text[..at(head)],
        &text[at(total - tail)..]
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_within_the_limit_stands_as_it_is() {
        assert!(!is_oversized("äöü", 3));
        assert_eq!(referenced("äöü", 3, "p"), "äöü");
    }

    #[test]
    fn an_oversized_text_is_shown_by_its_ends_and_its_place() {
        let text: String = ('a'..='z').collect();
        assert!(is_oversized(&text, 10));
        assert_eq!(
            referenced(&text, 10, ".out/7.txt"),
            "abcdef\n[16 of 26 characters left out here; the whole output is in .out/7.txt]\nwxyz"
        );
    }

    proptest! {
        #[test]
        fn so_many_characters_of_an_oversized_text_are_kept_whatever_its_script(
            text in "\\PC{40,90}", max in 0_usize..40,
        ) {
            prop_assert!(is_oversized(&text, max));
            let shown = referenced(&text, max, "path");
            let (head, rest) = shown.split_once("\n[").unwrap();
            let (_, tail) = rest.rsplit_once("]\n").unwrap();
            prop_assert_eq!(head.chars().count() + tail.chars().count(), max);
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
        }
    }
}
