//! Shortens long texts: cuts at character boundaries, and one-line summaries for tool output.
//!
//! Cut only redacted text (`Redactor::clean`): half a secret matches no shape.

use std::borrow::Cow;

/// Maximum length of a command in the event, in characters.
pub const COMMAND_MAX: usize = 4000;
/// Maximum length of an output in the event, in characters.
pub const OUTPUT_MAX: usize = 8000;
/// Maximum length of a run's label, in characters.
pub const LABEL_MAX: usize = 200;
/// Maximum length of the line in a result's summary, in characters.
const SUMMARY_MAX: usize = 200;
/// Marks where text was cut.
const ELLIPSIS: char = '…';

/// Cuts the text to `max` characters; the last is an ellipsis if text was removed.
pub fn cap(text: &str, max: usize) -> Cow<'_, str> {
    // A text has at least as many bytes as characters, so short texts need no counting.
    if text.len() <= max || text.chars().nth(max).is_none() {
        return Cow::Borrowed(text);
    }
    let kept = max.saturating_sub(1);
    let end = text
        .char_indices()
        .nth(kept)
        .map_or(text.len(), |(at, _)| at);
    let mut capped = text[..end].to_owned();
    if max > 0 {
        capped.push(ELLIPSIS);
    }
    Cow::Owned(capped)
}

/// Returns an output's first non-empty line and size.
pub fn result_summary(output: &str) -> String {
    let Some(line) = output.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return "no output".to_owned();
    };
    let lines = output.trim_end().lines().count();
    let plural = if lines == 1 { "" } else { "s" };
    format!(
        "{} ({lines} line{plural}, {} bytes)",
        cap(line, SUMMARY_MAX),
        output.len()
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_within_the_cap_is_unchanged() {
        assert!(matches!(cap("äöü", 3), Cow::Borrowed("äöü")));
        assert_eq!(cap("", 0), "");
    }

    #[test]
    fn longer_text_ends_in_an_ellipsis() {
        assert_eq!(cap("äöüß", 3), "äö…");
        assert_eq!(cap("abc", 1), "…");
        assert_eq!(cap("abc", 0), "");
    }

    #[test]
    fn summary_is_the_first_non_empty_line() {
        assert_eq!(
            result_summary("\n  \n  ok  \nmore\n\n"),
            "ok (4 lines, 17 bytes)"
        );
        assert_eq!(result_summary("done"), "done (1 line, 4 bytes)");
        assert_eq!(result_summary(" \n\t"), "no output");
        let long = "é".repeat(500);
        assert_eq!(
            result_summary(&long),
            format!("{}… (1 line, 1000 bytes)", "é".repeat(199))
        );
    }

    proptest! {
        #[test]
        fn capped_text_stays_within_the_cap(text in ".{0,40}", max in 0_usize..50) {
            let capped = cap(&text, max);
            prop_assert!(capped.chars().count() <= max);
            prop_assert!(text.starts_with(capped.trim_end_matches(ELLIPSIS)));
        }
    }
}
