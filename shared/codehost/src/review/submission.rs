//! The only review that a run posts: a comment, bound to the head that it read.
//!
//! An approval and a request for changes are not representable: the service never decides for a
//! person.

use serde::Serialize;

use super::placement::{InlineComment, Placed};
use crate::{
    diff::Commit,
    text::{MAX_BODY_CHARS, hidden_marker, markers, neutral_block},
};

/// Maximum length of the findings list in a review's body, in characters, so that the answer keeps
/// room.
const MAX_LISTED_CHARS: usize = 20_000;
/// Marker kind in a posted review.
const MARKER: &str = "review";

/// A review as the host reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Submission {
    /// The head that was read.
    commit_id: String,
    event: Event,
    body: String,
    comments: Vec<InlineComment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Event {
    #[serde(rename = "COMMENT")]
    Comment,
}

impl Submission {
    /// Builds a head's review. `answer` starts with the first line that code wrote. After a rebase
    /// without changes, `read_at` is the commit that was read instead of the head.
    pub fn new(head: &Commit, read_at: Option<&Commit>, answer: &str, placed: Placed) -> Self {
        let marker = hidden_marker(MARKER, head.as_str());
        let mut end = String::new();
        if !placed.listed.is_empty() {
            end.push_str("\n\nFindings without a line in this diff:\n\n");
            end.push_str(&listed(&placed.listed));
        }
        if let Some(read_at) = read_at {
            end.push_str(&format!(
                "\n\nThis review read {}. The head is {}, a rebase of the same changes.",
                read_at.short(),
                head.short()
            ));
        }
        end.push_str("\n\n");
        end.push_str(&marker);
        let room = MAX_BODY_CHARS.saturating_sub(end.chars().count());
        let body = format!("{}{end}", neutral_block(answer, room));
        Self {
            commit_id: head.to_string(),
            event: Event::Comment,
            body,
            comments: placed.inline,
        }
    }

    /// Returns the review's text.
    pub fn body(&self) -> &str {
        &self.body
    }
}

/// Joins whole entries, and counts those that do not fit.
fn listed(entries: &[String]) -> String {
    let (mut text, mut chars) = (String::new(), 0);
    for (index, entry) in entries.iter().enumerate() {
        chars += entry.chars().count() + 1;
        if chars > MAX_LISTED_CHARS {
            text.push_str(&format!("[… {} more findings …]", entries.len() - index));
            break;
        }
        text.push_str(entry);
        text.push('\n');
    }
    text.trim_end().to_owned()
}

/// A review that exists on the pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnReview {
    /// The service's own account wrote it. A marker in anybody else's text proves no post.
    pub is_own: bool,
    /// The review's text in Markdown.
    pub body: String,
}

/// Returns whether the service posted a review for this head.
pub fn is_posted(reviews: &[OwnReview], head: &Commit) -> bool {
    let own = reviews.iter().filter(|review| review.is_own);
    own.flat_map(|review| markers(&review.body, MARKER))
        .any(|marked| marked == head.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: &str) -> Commit {
        Commit::parse(&digit.repeat(40)).unwrap()
    }

    fn own(body: &str) -> OwnReview {
        OwnReview {
            is_own: true,
            body: body.to_owned(),
        }
    }

    #[test]
    fn review_is_a_comment_on_its_head() {
        let placed = Placed {
            inline: Vec::new(),
            listed: vec!["- one".into()],
        };
        let review = Submission::new(
            &commit("a"),
            Some(&commit("b")),
            "LGTM: safe\n\nfixes #1",
            placed,
        );
        let json = serde_json::to_value(&review).unwrap();
        let body = format!(
            "LGTM: safe\n\nfixes #\u{200b}1\n\nFindings without a line in this diff:\n\n- one\n\n\
             This review read bbbbbbb. The head is aaaaaaa, a rebase of the same changes.\n\n<!-- ars:review={} -->",
            "a".repeat(40)
        );
        let expected = serde_json::json!({ "commit_id": "a".repeat(40), "event": "COMMENT", "body": body, "comments": [] });
        assert_eq!(json, expected);
    }

    #[test]
    fn body_fits_the_host_and_keeps_its_marker() {
        let listed = vec!["x".repeat(3_000); 20];
        let review = Submission::new(
            &commit("a"),
            None,
            &"@a ".repeat(60_000),
            Placed {
                inline: vec![],
                listed,
            },
        );
        assert!(review.body().chars().count() <= MAX_BODY_CHARS);
        assert!(
            review.body().contains("[… the rest is cut …]")
                && review.body().contains("[… 14 more findings …]")
        );
        assert!(is_posted(&[own(review.body())], &commit("a")));
    }

    #[test]
    fn only_own_markers_of_this_head_count() {
        let review = Submission::new(&commit("a"), None, "LGTM: safe", Placed::default());
        let foreign = OwnReview {
            is_own: false,
            body: review.body().to_owned(),
        };
        assert!(!is_posted(&[foreign], &commit("a")));
        assert!(!is_posted(&[own(review.body())], &commit("b")));
        let quoted = Submission::new(&commit("b"), None, review.body(), Placed::default());
        assert!(!is_posted(&[own(quoted.body())], &commit("a")));
    }
}
