//! Tool output too long for the conversation: kept where the caller says, and shown by its head and its tail.
//!
//! Not here: keeping it. The caller asks [`is_oversized`], writes the whole text to a place the model can read, and
//! gives the model what [`referenced`] makes of it.

use std::borrow::Cow;

/// Stands for what was cut out of a text.
const CUT_OUT: &str = "\n[…]\n";
/// Of what is shown, the share that comes from the beginning, in percent. The end of an output tells how it ended, its
/// beginning what it is; errors stand at either.
const HEAD_PERCENT: usize = 60;

/// The text has more characters than may stand in the conversation.
pub fn is_oversized(text: &str, max_chars: usize) -> bool {
    text.len() > max_chars && text.chars().nth(max_chars).is_some()
}

/// What of an oversized text can be read elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept<'a> {
    /// All of it, in this file.
    Whole(&'a str),
    /// What there is of it, in this file: whoever made the text had left out its middle.
    Ends(&'a str),
    /// Nothing.
    Nowhere,
}

/// The head and the tail of an oversized text, `max_chars` characters together, with a line between them that says
/// where more of it is.
pub fn referenced(text: &str, max_chars: usize, kept: Kept<'_>) -> String {
    let total = text.chars().count();
    let Some((head, tail)) = ends(text, total, max_chars) else { return text.to_owned() };
    let left_out = total - max_chars;
    let note = match kept {
        Kept::Whole(path) => {
            format!("{left_out} of {total} characters left out here; the whole output is in {path}")
        }
        // How much there was is not known.
        Kept::Ends(path) => {
            format!("most of the output is left out here; more of both its ends, not the whole, is in {path}")
        }
        Kept::Nowhere => {
            format!(
                "{left_out} of {total} characters left out here, and kept in no file: ask for less at a time"
            )
        }
    };
    format!("{head}\n[{note}]\n{tail}")
}

/// The head and the tail of a text that has more characters than these, with a mark between them: so many characters all
/// together.
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

/// The beginning and the end of a text of `total` characters, `max_chars` together; none if it has no more than that.
fn ends(text: &str, total: usize, max_chars: usize) -> Option<(&str, &str)> {
    if total <= max_chars {
        return None;
    }
    let head = max_chars / 100 * HEAD_PERCENT + max_chars % 100 * HEAD_PERCENT / 100;
    let tail = max_chars - head;
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    Some((&text[..at(head)], &text[at(total - tail)..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_within_the_limit_stands_as_it_is() {
        assert!(!is_oversized("äöü", 3));
        assert_eq!(referenced("äöü", 3, Kept::Whole("p")), "äöü");
    }

    #[test]
    fn a_text_cut_to_both_ends_has_so_many_characters() {
        let text: String = ('a'..='z').collect();
        assert_eq!(both_ends(&text, 15), "abcdef\n[…]\nwxyz");
        assert_eq!(both_ends(&text, 26), text);
    }

    #[test]
    fn an_oversized_text_is_shown_by_its_ends_and_its_place() {
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
        fn what_is_cut_to_both_ends_has_no_more_characters_than_it_may(text in "\\PC{0,90}", max in 0_usize..60) {
            let cut = both_ends(&text, max);
            prop_assert!(cut.chars().count() <= max);
            prop_assert!(text.chars().count() > max || cut == text.as_str());
        }

        #[test]
        fn so_many_characters_of_an_oversized_text_are_kept_whatever_its_script(
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
