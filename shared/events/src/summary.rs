//! Short forms of long texts: caps at character boundaries, and the one line that stands for a tool's output.
//!
//! Cut only what is already redacted (`Redactor::clean`): a secret cut in half matches no shape any more.
//! Implements bot supplement section 9.

use std::borrow::Cow;

/// Most characters of a bash call's command on its event (bot supplement section 9).
pub const COMMAND_MAX: usize = 4000;
/// Most characters of a result's output on its event (bot supplement section 9).
pub const OUTPUT_MAX: usize = 8000;
/// Most characters of a run's label (bot supplement section 10).
pub const LABEL_MAX: usize = 200;
/// Most characters of the line in a result's summary (bot supplement section 9).
const SUMMARY_MAX: usize = 200;
/// Stands for what was cut off.
const ELLIPSIS: char = '…';

/// At most `max` characters of the text; when some were cut off, the last one is an ellipsis.
pub fn cap(text: &str, max: usize) -> Cow<'_, str> {
    // A text has at least as many bytes as characters, so most texts need no counting.
    if text.len() <= max || text.chars().nth(max).is_none() {
        return Cow::Borrowed(text);
    }
    let kept = max.saturating_sub(1);
    let end = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
    let mut capped = text[..end].to_owned();
    if max > 0 {
        capped.push(ELLIPSIS);
    }
    Cow::Owned(capped)
}

/// The first non-empty line of an output, and how large the whole is.
pub fn result_summary(output: &str) -> String {
    let Some(line) = output.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return "no output".to_owned();
    };
    let lines = output.trim_end().lines().count();
    let plural = if lines == 1 { "" } else { "s" };
    format!("{} ({lines} line{plural}, {} bytes)", cap(line, SUMMARY_MAX), output.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_within_the_cap_is_left_alone() {
        assert!(matches!(cap("äöü", 3), Cow::Borrowed("äöü")));
        assert_eq!(cap("", 0), "");
    }

    #[test]
    fn a_longer_text_ends_in_an_ellipsis_within_the_cap() {
        assert_eq!(cap("äöüß", 3), "äö…");
        assert_eq!(cap("abc", 1), "…");
        assert_eq!(cap("abc", 0), "");
    }

    #[test]
    fn a_summary_is_the_first_line_that_says_something() {
        assert_eq!(result_summary("\n  \n  ok  \nmore\n\n"), "ok (4 lines, 17 bytes)");
        assert_eq!(result_summary("done"), "done (1 line, 4 bytes)");
        assert_eq!(result_summary(" \n\t"), "no output");
        let long = "é".repeat(500);
        assert_eq!(result_summary(&long), format!("{}… (1 line, 1000 bytes)", "é".repeat(199)));
    }

    proptest! {
        #[test]
        fn a_capped_text_has_at_most_so_many_characters(text in ".{0,40}", max in 0_usize..50) {
            let capped = cap(&text, max);
            prop_assert!(capped.chars().count() <= max);
            prop_assert!(text.starts_with(capped.trim_end_matches(ELLIPSIS)));
        }
    }
}
