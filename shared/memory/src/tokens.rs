//! Splits a text into tokens.

use std::borrow::Cow;

/// Returns the maximal runs of ASCII letters and digits in lower case. All other characters separate.
pub fn tokens(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let runs = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|run| !run.is_empty());
    runs.map(
        |run| match run.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(run.to_ascii_lowercase()),
            false => Cow::Borrowed(run),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_ascii_letters_and_digits() {
        for (text, expected) in [
            ("", &[][..]),
            (" -\"*\u{0}é ", &[]),
            (
                "Run the TESTS twice, run!",
                &["run", "the", "tests", "twice", "run"],
            ),
            ("naïve café", &["na", "ve", "caf"]),
            (
                "snake_case camelCase v2.10",
                &["snake", "case", "camelcase", "v2", "10"],
            ),
            (
                "a\u{0}b c\u{300}d \u{212a}elvin ſ",
                &["a", "b", "c", "d", "elvin"],
            ),
            (
                "NEAR(a, b) OR col:x*",
                &["near", "a", "b", "or", "col", "x"],
            ),
        ] {
            assert_eq!(tokens(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
