//! The reading diff of a review, for people who read it next to the answer.
//!
//! Git makes it concurrently, so it neither delays nor fails the review. Not here: the abridged form, which a large
//! model makes on demand.

use ars_bot_ports::Workspace;
use ars_events::{ArtifactKind, DiffProvider, EventBody, Redactor};
use ars_types::RefName;
use tokio_util::sync::CancellationToken;

use super::range::{Base, git_of_range};

/// Maximum length of a reading diff in UTF-16 code units.
const DIFF_CHARS: usize = 120_000;
/// Maximum bytes requested from git, far above the cap, so that redaction precedes the final cut.
const DIFF_BYTES: usize = 1 << 20;

/// Returns the artifact of a review of the tree's commits.
/// They are compared with `origin/<base>`, or the origin's default branch. `None` when git fails or nothing changed.
pub async fn reading_diff(
    workspace: &dyn Workspace,
    base: Option<&RefName>,
    redactor: &Redactor,
    cancel: &CancellationToken,
) -> Option<EventBody> {
    let base = base.map_or(Base::Default, Base::BranchOrDefault);
    let (base_ref, answer) = match git_of_range(workspace, base, &[], DIFF_BYTES, cancel).await {
        Ok(found) => found?,
        Err(error) => {
            tracing::warn!(error = %error, "no reading diff: git was not run");
            return None;
        }
    };
    let (diff, truncated) = readable(&answer.output, answer.truncated, redactor);
    (!diff.trim().is_empty()).then_some(EventBody::ReviewArtifact {
        artifact: ArtifactKind::ReadingDiff,
        powered_by: DiffProvider::Git,
        base_ref,
        diff,
        truncated,
        summary: None,
        meat_tokens: None,
    })
}

/// Removes control sequences and secrets, and truncates the diff to the cap with a note.
fn readable(output: &[u8], mut truncated: bool, redactor: &Redactor) -> (String, bool) {
    // A partial line could hold part of a secret, which no pattern matches.
    let whole_lines = match truncated {
        true => output.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1),
        false => output.len(),
    };
    let mut diff = redactor.clean(&String::from_utf8_lossy(&output[..whole_lines]), usize::MAX);
    let mut room = DIFF_CHARS;
    let end = diff.char_indices().find_map(|(at, char)| match room.checked_sub(char.len_utf16()) {
        Some(left) => {
            room = left;
            None
        }
        None => Some(at),
    });
    if let Some(end) = end {
        diff.truncate(end);
        truncated = true;
    }
    if truncated {
        diff.push_str("\n[… the rest of this diff is not shown …]\n");
    }
    (diff, truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(output: &str) -> (String, bool) {
        readable(output.as_bytes(), false, &Redactor::default())
    }

    #[test]
    fn a_diff_within_the_cap_is_left_whole() {
        let exact = "é".repeat(DIFF_CHARS);
        assert_eq!(plain(&exact), (exact.clone(), false));
    }

    #[test]
    fn long_diff_is_truncated_between_characters() {
        let (diff, truncated) = plain(&format!("a{}", "😀".repeat(DIFF_CHARS)));
        let (kept, note) = diff.split_once('\n').unwrap();
        // One unit and then surrogate pairs: the last pair no longer fits.
        assert_eq!(kept.encode_utf16().count(), DIFF_CHARS - 1);
        assert!(truncated && kept.ends_with('😀') && note.contains("not shown"), "{note}");
    }

    #[test]
    fn secrets_are_redacted_before_the_cut() {
        let secret = "ghp_A1b2C3d4E5f6G7h8I9j0";
        let text = format!("{}{secret}", "x ".repeat((DIFF_CHARS - 8) / 2));
        let (diff, truncated) = plain(&text);
        assert!(truncated && !diff.contains("ghp_"), "{}", &diff[diff.len() - 80..]);
        let (diff, _) =
            readable(b"+known-one\n\x1b[31m+x\n", false, &Redactor::new(["known-one".to_owned()]));
        assert_eq!(diff, "+[redacted]\n+x\n");
    }

    #[test]
    fn truncated_output_ends_with_a_full_line() {
        let (diff, truncated) = readable(b"+one\n+ghp_A1b2C", true, &Redactor::default());
        assert!(truncated && diff.starts_with("+one\n\n[…") && !diff.contains("ghp_"), "{diff}");
    }
}
