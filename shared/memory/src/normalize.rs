//! Decides whether texts are equal.

/// Trims the text, lower-cases it, and collapses white space. Punctuation counts.
pub fn normalize(text: &str) -> String {
    text.to_lowercase()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_case_and_white_space_are_ignored() {
        for (text, expected) in [
            ("  The\tCI \n runs\u{a0}nightly ", "the ci runs nightly"),
            ("the ci runs nightly.", "the ci runs nightly."),
            ("ÄÖ Ü", "äö ü"),
            ("a\u{0}b", "a\u{0}b"),
            (" ", ""),
        ] {
            assert_eq!(normalize(text), expected, "{text:?}");
        }
    }
}
