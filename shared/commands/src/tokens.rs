//! The words in a message: separated by blanks, grouped by quotes.
//!
//! A quote opens where a word starts, or after an option's `=`. Elsewhere it is an ordinary
//! character, so that an apostrophe needs no escape. Typographic quotes count as straight quotes.

use crate::InvalidInput;

/// Splits the text into words.
pub(crate) fn tokens(text: &str) -> Result<Vec<String>, InvalidInput> {
    let mut words = Vec::new();
    let mut chars = text.chars().map(straight).peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Ok(words);
        }
        let mut word = String::new();
        let mut may_open = true;
        while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
            if may_open && is_quote(c) {
                loop {
                    match chars.next() {
                        None => return Err(InvalidInput::OpenQuote),
                        Some(end) if end == c => break,
                        Some(inner) => word.push(inner),
                    }
                }
                may_open = false;
                continue;
            }
            word.push(c);
            may_open = c == '=' && is_option_name(&word);
        }
        words.push(word);
    }
}

/// Returns whether a word is `--name=`, so that the value begins after it.
fn is_option_name(word: &str) -> bool {
    let name = word
        .strip_prefix("--")
        .and_then(|rest| rest.strip_suffix('='));
    name.is_some_and(|name| !name.contains('='))
}

fn is_quote(c: char) -> bool {
    c == '"' || c == '\''
}

/// Converts a typographic quote.
fn straight(c: char) -> char {
    match c {
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{ab}' | '\u{bb}' => '"',
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => '\'',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_separated_by_blanks_and_grouped_by_quotes() {
        for (text, expected) in [
            ("", vec![]),
            (" \n\t", vec![]),
            ("a  b\nc", vec!["a", "b", "c"]),
            ("\"a b\" 'c d'", vec!["a b", "c d"]),
            ("\u{201c}a b\u{201d} \u{2018}c\u{2019}", vec!["a b", "c"]),
            ("''", vec![""]),
            ("don't it\u{2019}s", vec!["don't", "it's"]),
            ("--label=\"a b\" --x='y z'", vec!["--label=a b", "--x=y z"]),
            ("a=\"b\"", vec!["a=\"b\""]),
            ("\"a 'b' c\"", vec!["a 'b' c"]),
            ("\"a\"b", vec!["ab"]),
        ] {
            assert_eq!(
                tokens(text),
                Ok(expected.into_iter().map(str::to_owned).collect()),
                "{text}"
            );
        }
    }

    #[test]
    fn open_quote_is_an_error() {
        for text in ["\"a", "a 'b c", "--x=\"", "\u{201c}a"] {
            assert_eq!(tokens(text), Err(InvalidInput::OpenQuote), "{text}");
        }
    }

    proptest! {
        /// Without quotes, the words match the standard library's.
        #[test]
        fn plain_text_splits_at_white_space(text in r#"[^"'\u{ab}\u{bb}\u{2018}-\u{201f}]{0,60}"#) {
            let expected: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            prop_assert_eq!(tokens(&text), Ok(expected));
        }

        #[test]
        fn any_text_ends(text in "\\PC{0,80}") {
            drop(tokens(&text));
        }
    }
}
