//! Tool output that is too long for the conversation: kept in a file, shown by head and tail.
//!
//! Not here: keeping it. The caller checks [`is_oversized`], writes the whole text to a readable
//! place, and gives the model what [`referenced`] returns.

use std::borrow::Cow;

/// Marks where a text was cut.
const CUT_OUT: &str = "\n[…]\n";
/// Share for the head, in percent. The tail shows how an output ended and the head what kind it is;
/// errors occur in both.
const HEAD_PERCENT: usize = 60;

/// Whether the text has too many characters for the conversation.
pub fn is_oversized(text: &str, max_chars: usize) -> bool {
    text.len() > max_chars && text.chars().nth(max_chars).is_some()
}

/// Where an oversized text can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept<'a> {
    /// The whole text is in this file.
    Whole(&'a str),
    /// The text as received is in this file. The producer had dropped the middle.
    Ends(&'a str),
    /// No file keeps the text.
    Nowhere,
}

/// Returns an oversized text's head and tail, with a line between them that names the file. Head
/// and tail have `max_chars` characters together.
pub fn referenced(text: &str, max_chars: usize, kept: Kept<'_>) -> String {
    let total = text.chars().count();
    let Some((head, tail)) = ends(text, total, max_chars) else {
        return text.to_owned();
    };
    let left_out = total - max_chars;
    let note = match kept {
        Kept::Whole(path) => {
            format!("{left_out} of {total} characters left out here; the whole output is in {path}")
        }
        // The original length is unknown.
        Kept::Ends(path) => {
            format!(
                "most of the output is left out here; more of both its ends, not the whole, is in {path}"
            )
        }
        Kept::Nowhere => {
            format!(
                "{left_out} of {total} characters left out here, and kept in no file: ask for less at a time"
            )
        }
    };
    format!("{head}\n[{note}]\n{tail}")
}

/// Returns a longer text's head and tail with a mark between them, `max_chars` in all.
pub(crate) fn both_ends(text: &str, max_chars: usize) -> Cow<'_, str> {
    let kept = max_chars.saturating_sub(CUT_OUT.chars().count());
    if !is_oversized(text, max_chars) {
        return Cow::Borrowed(text);
    }
    match ends(text, text.chars().count(), kept) {
        Some((head, tail)) if kept > 0 => Cow::Owned(format!("{head}{CUT_OUT}{tail}")),
        // There is no room for the mark.
        _ => ars_events::cap(text, max_chars),
    }
}

/// Splits a text of `total` characters into head and tail; `None` if it fits `max_chars`.
fn ends(text: &str, total: usize, max_chars: usize) -> Option<(&str, &str)> {
    if total <= max_chars {
        return None;
    }
    let head = max_chars / 100 * HEAD_PERCENT + max_chars % 100 * HEAD_PERCENT / 100;
    let tail = max_chars - head;
    let at = |chars: usize| {
        text.char_indices()
            .nth(chars)
            .map_or(text.len(), |(at, _)| at)
    };
    Some((&text[..at(head)], &text[at(total - tail)..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_within_the_limit_is_unchanged() {
        assert!(!is_oversized("äöü", 3));
        assert_eq!(referenced("äöü", 3, Kept::Whole("p")), "äöü");
    }

    #[test]
    fn cut_text_has_the_given_length() {
        let text: String = ('a'..='z').collect();
        assert_eq!(both_ends(&text, 15), "abcdef\n[…]\nwxyz");
        assert_eq!(both_ends(&text, 26), text);
    }

    #[test]
    fn oversized_text_names_its_file() {
        let text: String = ('a'..='z').collect();
        assert!(is_oversized(&text, 10));
        assert_eq!(
            referenced(&text, 10, Kept::Whole(".out/7.txt")),
            "abcdef\n[16 of 26 characters left out here; the whole output is in .out/7.txt]\nwxyz"
        );
        assert_eq!(
            referenced(&text, 10, Kept::Ends(".out/7.txt")),
            "abcdef\n[most of the output is left out here; more of both its ends, not the whole, is in \
             .out/7.txt]\nwxyz"
        );
        assert_eq!(
            referenced(&text, 10, Kept::Nowhere),
            "abcdef\n[16 of 26 characters left out here, and kept in no file: ask for less at a time]\nwxyz"
        );
    }

    proptest! {
        #[test]
        fn cut_text_never_exceeds_its_limit(text in "\\PC{0,90}", max in 0_usize..60) {
            let cut = both_ends(&text, max);
            prop_assert!(cut.chars().count() <= max);
            prop_assert!(text.chars().count() > max || cut == text.as_str());
        }

        #[test]
        fn limit_counts_characters_in_any_script(
            text in "\\PC{40,90}", max in 0_usize..40,
        ) {
            prop_assert!(is_oversized(&text, max));
            let shown = referenced(&text, max, Kept::Whole("path"));
            let (head, rest) = shown.split_once("\n[").unwrap();
            let (_, tail) = rest.rsplit_once("]\n").unwrap();
            prop_assert_eq!(head.chars().count() + tail.chars().count(), max);
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
        }
    }
}
