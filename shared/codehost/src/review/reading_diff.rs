//! The text of a reading diff, from git or code host output.
//!
//! Not here: fetching the diff.

use ars_events::Redactor;

/// Maximum length of a reading diff in UTF-16 code units.
const MAX_DIFF_UNITS: usize = 120_000;

/// Removes control sequences and secrets, and truncates the diff to the cap with a note.
pub fn readable_diff(output: &[u8], mut truncated: bool, redactor: &Redactor) -> (String, bool) {
    // A partial line could hold a partial secret, which no pattern matches.
    let whole_lines = match truncated {
        true => output
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1),
        false => output.len(),
    };
    let mut diff = redactor.clean(&String::from_utf8_lossy(&output[..whole_lines]), usize::MAX);
    let mut room = MAX_DIFF_UNITS;
    let end = diff
        .char_indices()
        .find_map(|(at, char)| match room.checked_sub(char.len_utf16()) {
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
        readable_diff(output.as_bytes(), false, &Redactor::default())
    }

    #[test]
    fn a_diff_within_the_cap_is_left_whole() {
        let exact = "é".repeat(MAX_DIFF_UNITS);
        assert_eq!(plain(&exact), (exact.clone(), false));
    }

    #[test]
    fn long_diff_is_truncated_between_characters() {
        let (diff, truncated) = plain(&format!("a{}", "😀".repeat(MAX_DIFF_UNITS)));
        let (kept, note) = diff.split_once('\n').unwrap();
        // One unit and then surrogate pairs: the last pair no longer fits.
        assert_eq!(kept.encode_utf16().count(), MAX_DIFF_UNITS - 1);
        assert!(
            truncated && kept.ends_with('😀') && note.contains("not shown"),
            "{note}"
        );
    }

    #[test]
    fn secrets_are_redacted_before_the_cut() {
        let secret = "ghp_A1b2C3d4E5f6G7h8I9j0";
        let text = format!("{}{secret}", "x ".repeat((MAX_DIFF_UNITS - 8) / 2));
        let (diff, truncated) = plain(&text);
        assert!(
            truncated && !diff.contains("ghp_"),
            "{}",
            &diff[diff.len() - 80..]
        );
        let (diff, _) = readable_diff(
            b"+known-one\n\x1b[31m+x\n",
            false,
            &Redactor::new(["known-one".to_owned()]),
        );
        assert_eq!(diff, "+[redacted]\n+x\n");
    }

    #[test]
    fn truncated_output_ends_with_a_full_line() {
        let (diff, truncated) = readable_diff(b"+one\n+ghp_A1b2C", true, &Redactor::default());
        assert!(
            truncated && diff.starts_with("+one\n\n[…") && !diff.contains("ghp_"),
            "{diff}"
        );
    }
}
