//! When two texts say the same (state-worker supplement section 2.5).

/// The text without its margins, in lower case, each run of white space one space. Nothing else: punctuation counts.
pub fn normalize(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_white_space_are_all_that_is_ignored() {
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
