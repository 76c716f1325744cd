//! Removes terminal control sequences, which could hide text, forge it, or split a secret.
//!
//! DEL and the C1 controls are removed as well: a terminal may read U+009B as the two-byte `ESC [`.

use std::borrow::Cow;

/// Removes control sequences and control characters, except newline and tab.
pub(super) fn strip_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_stripped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_stripped) {
        out.push_str(&rest[..at]);
        rest = after_control(&rest[at..]);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn is_stripped(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// Returns the text after the leading control character and the sequence that it introduces.
fn after_control(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('\u{1b}') => after_escape(chars.as_str()),
        Some('\u{9b}') => after_csi(chars.as_str()),
        Some('\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => after_string(chars.as_str()),
        Some(_) | None => chars.as_str(),
    }
}

fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => after_csi(chars.as_str()),
        // OSC, and the other strings with the same end: DCS, SOS, PM, APC.
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(chars.as_str()),
        Some(' '..='~') => {
            let rest = text.trim_start_matches(|c| matches!(c, ' '..='/'));
            rest.strip_prefix(|c| matches!(c, '0'..='~'))
                .unwrap_or(rest)
        }
        Some(_) | None => text,
    }
}

/// Skips parameters, intermediates and one final character.
/// A truncated sequence ends at the first other character.
fn after_csi(text: &str) -> &str {
    let rest = text.trim_start_matches(|c| matches!(c, '0'..='?'));
    let rest = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
    rest.strip_prefix(|c| matches!(c, '@'..='~'))
        .unwrap_or(rest)
}

/// A control string ends with BEL or ST. A truncated string ends with the line, so that it cannot
/// remove the rest of an output.
fn after_string(text: &str) -> &str {
    let Some(end) = text.find(['\u{7}', '\u{9c}', '\u{1b}', '\n']) else {
        return "";
    };
    let rest = &text[end..];
    match rest
        .strip_prefix("\u{1b}\\")
        .or_else(|| rest.strip_prefix(['\u{7}', '\u{9c}']))
    {
        Some(after) => after,
        None => rest,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_text_is_unchanged() {
        assert!(matches!(strip_controls("a\tb\nç…"), Cow::Borrowed(_)));
    }

    #[test]
    fn control_sequences_are_removed() {
        let cases = [
            ("csi colour", "a\u{1b}[1;31mred\u{1b}[0mb", "aredb"),
            ("csi with intermediates", "a\u{1b}[?25 qb", "ab"),
            ("csi cut off by a line end", "a\u{1b}[12\nb", "a\nb"),
            ("csi cut off by the end", "a\u{1b}[", "a"),
            ("csi in one character", "a\u{9b}31mb", "ab"),
            ("osc ended by bel", "a\u{1b}]0;title\u{7}b", "ab"),
            (
                "osc ended by st",
                "a\u{1b}]8;;http://x\u{1b}\\link",
                "alink",
            ),
            ("osc in one character", "a\u{9d}0;t\u{9c}b", "ab"),
            ("osc cut off by the end", "a\u{1b}]0;title", "a"),
            ("osc cut off by a line end", "a\u{1b}]0;title\nb", "a\nb"),
            (
                "osc cut off by another sequence",
                "a\u{1b}]0;t\u{1b}[1mb",
                "ab",
            ),
            ("dcs", "a\u{1b}Pq#0\u{1b}\\b", "ab"),
            ("two-byte escape", "a\u{1b}7b\u{1b}cd", "abd"),
            ("charset selection", "a\u{1b}(Bb", "ab"),
            ("lone escape", "a\u{1b}", "a"),
            ("escape before a line end", "a\u{1b}\nb", "a\nb"),
            (
                "c0 and carriage return",
                "a\u{0}\u{8}b\r\nc\td\u{7f}",
                "ab\nc\td",
            ),
        ];
        for (name, text, want) in cases {
            assert_eq!(strip_controls(text), want, "{name}");
        }
    }

    #[test]
    fn long_runs_of_unfinished_sequences_are_stripped() {
        for unit in [
            "\u{1b}", "\u{1b}[", "\u{1b}]", "\u{1b}P", "\u{1b}(", "\u{9d}",
        ] {
            assert_eq!(strip_controls(&unit.repeat(500_000)), "", "{unit:?}");
        }
    }

    proptest! {
        #[test]
        fn no_control_character_remains(text in "[\u{1b}\u{9b}\u{9d}\u{7}\u{9c}\\[\\]P\\\\0;m\n\ta-c]{0,40}") {
            let stripped = strip_controls(&text);
            prop_assert!(!stripped.contains(is_stripped));
            prop_assert_eq!(stripped.matches('\n').count(), text.matches('\n').count());
        }
    }
}
