//! A unified diff's size, counted as git does.

use std::fmt;

/// Files and lines in a diff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that the diff changes.
    pub files: usize,
    /// Lines that were added.
    pub added: usize,
    /// Lines that were removed.
    pub removed: usize,
}

impl Changes {
    /// Counts a diff in git's form. A content line may look like a header (`--- a` removed is `----
    /// a`), so lines count only within hunks, using the lengths in their headers.
    pub fn from_diff(diff: &str) -> Self {
        let mut changes = Self::default();
        let (mut old_left, mut new_left) = (0_usize, 0_usize);
        for line in diff.lines() {
            if old_left == 0 && new_left == 0 {
                changes.files += usize::from(line.starts_with("diff --git "));
                (old_left, new_left) = hunk(line).unwrap_or_default();
                continue;
            }
            match line.as_bytes().first() {
                Some(b'+') => {
                    changes.added += 1;
                    new_left = new_left.saturating_sub(1);
                }
                Some(b'-') => {
                    changes.removed += 1;
                    old_left = old_left.saturating_sub(1);
                }
                // "No newline at end of file" belongs to the line before it.
                Some(b'\\') => {}
                Some(_) | None => {
                    old_left = old_left.saturating_sub(1);
                    new_left = new_left.saturating_sub(1);
                }
            }
        }
        changes
    }
}

/// Returns the old and new length in `@@ -1,2 +1,3 @@`; a missing length is 1.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let length = |range: &str| {
        range
            .split_once(',')
            .map_or(Some(1), |(_, length)| length.parse().ok())
    };
    Some((length(old)?, length(new)?))
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            files,
            added,
            removed,
        } = self;
        let plural = if *files == 1 { "" } else { "s" };
        write!(f, "{files} file{plural} changed, +{added} -{removed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_within_hunks_only() {
        let diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn\n a\n-- old\n+++ new\n c\n\
            @@ -9 +9,2 @@\n-z\n+z\n+y\n\\ No newline at end of file\n\
            diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+diff --git a/q b/q\n";
        let changes = Changes::from_diff(diff);
        assert_eq!(
            changes,
            Changes {
                files: 2,
                added: 4,
                removed: 2
            }
        );
        assert_eq!(changes.to_string(), "2 files changed, +4 -2");
    }

    #[test]
    fn files_without_lines_count_as_files() {
        let diff = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
        assert_eq!(
            Changes::from_diff(diff).to_string(),
            "1 file changed, +0 -0"
        );
        assert_eq!(Changes::from_diff(""), Changes::default());
    }
}
