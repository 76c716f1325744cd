//! A review's findings, as comments on diff lines or as a list in the body.

use serde::{Serialize, Serializer};

use crate::{
    diff::{Diff, Rejected, Side},
    text::{neutral_block, neutral_line},
};

/// Maximum number of line comments in a review. The body lists the other findings.
const MAX_INLINE_COMMENTS: usize = 50;
/// Maximum length of a finding in characters.
pub const MAX_FINDING_CHARS: usize = 4_000;
/// Maximum length of a path in a review's body, in characters.
const MAX_PATH_CHARS: usize = 300;

/// A finding in a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Path of the file.
    pub path: String,
    /// First line, if it concerns several.
    pub start: Option<u64>,
    /// Line, or the last line.
    pub line: u64,
    /// The diff side that the line is on.
    pub side: Side,
    /// The reviewer's text in Markdown.
    pub text: String,
}

/// A comment on a line, as the host reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InlineComment {
    /// Path of the file.
    pub path: String,
    /// Line, or the last line.
    pub line: u64,
    /// The diff side that the line is on.
    pub side: Side,
    /// First line, if the comment spans several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// The first line's side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_side: Option<Side>,
    /// The comment's text in Markdown.
    pub body: String,
}

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        })
    }
}

/// Findings by their place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placed {
    /// Comments attached to diff lines.
    pub inline: Vec<InlineComment>,
    /// Entries for a list in the body.
    pub listed: Vec<String>,
}

/// Places the findings. A finding that the host would reject on that line is listed in the body, so
/// none is lost. Without a diff every finding is listed, which is the form for a host that rejected
/// an anchor anyway.
pub fn place(findings: &[Finding], diff: Option<&Diff>) -> Placed {
    let mut placed = Placed::default();
    for finding in findings {
        let is_full = placed.inline.len() >= MAX_INLINE_COMMENTS;
        let accepted =
            diff.map(|diff| diff.accepts(&finding.path, finding.start, finding.line, finding.side));
        let body = neutral_block(&finding.text, MAX_FINDING_CHARS);
        match accepted {
            Some(Ok(())) if !is_full => placed.inline.push(InlineComment {
                path: finding.path.clone(),
                line: finding.line,
                side: finding.side,
                start_line: finding.start,
                start_side: finding.start.map(|_| finding.side),
                body,
            }),
            other => placed
                .listed
                .push(entry(finding, &body, other.and_then(Result::err))),
        }
    }
    placed
}

fn entry(finding: &Finding, body: &str, rejected: Option<Rejected>) -> String {
    // A backtick would end the code that shows the path.
    let path = neutral_line(&finding.path, MAX_PATH_CHARS).replace('`', "'");
    let lines = match finding.start {
        Some(start) => format!("{start}-{}", finding.line),
        None => finding.line.to_string(),
    };
    let note = match rejected {
        Some(Rejected::UnknownFile) => " (not changed here)",
        Some(Rejected::NoLines) => " (no lines shown)",
        Some(Rejected::LineNotShown | Rejected::BadRange) => " (outside of the diff)",
        None => "",
    };
    let indented = body.replace('\n', "\n  ");
    format!("- `{path}:{lines}`{note}: {indented}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diff::parse_unified;

    fn diff() -> Diff {
        parse_unified(
            "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\ndiff --git a/i b/i\nBinary files a/i and b/i differ\n",
        )
    }

    fn finding(path: &str, start: Option<u64>, line: u64) -> Finding {
        Finding {
            path: path.into(),
            start,
            line,
            side: Side::Right,
            text: "ask @ann".into(),
        }
    }

    #[test]
    fn finding_is_inline_where_the_host_accepts_it() {
        let placed = place(&[finding("f", Some(2), 3)], Some(&diff()));
        let json = serde_json::to_value(&placed.inline).unwrap();
        let expected = serde_json::json!([{
            "path": "f", "line": 3, "side": "RIGHT", "start_line": 2, "start_side": "RIGHT", "body": "ask @\u{200b}ann",
        }]);
        assert_eq!((json, placed.listed.len()), (expected, 0));
    }

    #[test]
    fn rejected_anchor_falls_back_to_the_body() {
        for (finding, start) in [
            (finding("f", None, 9), "- `f:9` (outside of the diff): ask"),
            (
                finding("f", Some(3), 2),
                "- `f:3-2` (outside of the diff): ask",
            ),
            (finding("i", None, 1), "- `i:1` (no lines shown): ask"),
            (
                finding("a`@b\n# x", None, 1),
                "- `a'@\u{200b}b # x:1` (not changed here): ask",
            ),
        ] {
            let placed = place(&[finding], Some(&diff()));
            assert!(
                placed.inline.is_empty() && placed.listed[0].starts_with(start),
                "{:?}",
                placed.listed
            );
        }
        assert!(place(&[finding("f", None, 1)], None).listed[0].starts_with("- `f:1`: ask"));
    }

    proptest! {
        #[test]
        fn no_finding_is_lost(lines in prop::collection::vec(0u64..5, 0..150)) {
            let findings: Vec<_> = lines.iter().map(|line| finding("f", None, *line)).collect();
            let placed = place(&findings, Some(&diff()));
            prop_assert_eq!(placed.inline.len() + placed.listed.len(), findings.len());
            prop_assert!(placed.inline.len() <= MAX_INLINE_COMMENTS);
        }
    }
}
