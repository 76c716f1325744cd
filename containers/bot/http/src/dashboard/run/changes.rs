//! The changes in a working tree, file by file.

use ars_bot_core::queries::TreeDiff;

/// Maximum diff bytes on the page. `ars diff` prints the rest.
const DIFF_MAX_BYTES: usize = 256 << 10;

/// The shown changes in a tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The text in place of files.
    pub(super) note: Option<&'static str>,
    pub(super) files: Vec<FileChange>,
    /// The diff is longer.
    pub(super) is_cut: bool,
}

/// The changes in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) lines: Vec<Line>,
}

/// A line in a diff.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) kind: LineKind,
    /// The line without the sign.
    pub(super) text: String,
}

/// Kind that a line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Added,
    Removed,
    Context,
    Hunk,
    Note,
}

impl Changes {
    /// Returns a diff's view.
    pub(crate) fn from_diff(diff: &TreeDiff) -> Self {
        let note = match diff {
            TreeDiff::Text(text) if !text.trim().is_empty() => return Self::of_text(text),
            TreeDiff::Text(_) => "The working tree has no changes.",
            TreeDiff::NoTree => "This run has no working tree on this machine.",
            TreeDiff::InUse => {
                "A newer run of this thread changes the working tree now. Open the page of that run to see the changes."
            }
            TreeDiff::Busy => "Other changes are compared right now. Reload the page in a moment.",
            TreeDiff::Failed => {
                "The working tree could not be compared. The log of the service has the reason."
            }
        };
        Self {
            note: Some(note),
            ..Self::default()
        }
    }

    fn of_text(text: &str) -> Self {
        let shown = text
            .get(..text.floor_char_boundary(DIFF_MAX_BYTES))
            .unwrap_or(text);
        let mut files: Vec<FileChange> = Vec::new();
        for line in shown.lines() {
            if let Some(paths) = line.strip_prefix("diff --git ") {
                files.push(FileChange {
                    path: path_of(paths),
                    ..FileChange::default()
                });
            } else if let Some(file) = files.last_mut() {
                file.add(line);
            }
        }
        Self {
            note: None,
            files,
            is_cut: shown.len() < text.len(),
        }
    }
}

impl FileChange {
    fn add(&mut self, line: &str) {
        let is_in_hunk = self.lines.iter().any(|line| line.kind == LineKind::Hunk);
        let (kind, text) = match line.chars().next() {
            Some('@') => (LineKind::Hunk, line),
            Some('+') if is_in_hunk => (LineKind::Added, &line[1..]),
            Some('-') if is_in_hunk => (LineKind::Removed, &line[1..]),
            Some(' ') if is_in_hunk => (LineKind::Context, &line[1..]),
            // The names are in the head, and the hashes tell a reader nothing.
            _ if ["index ", "--- ", "+++ "]
                .iter()
                .any(|head| line.starts_with(head)) =>
            {
                return;
            }
            _ => (LineKind::Note, line),
        };
        self.added += usize::from(kind == LineKind::Added);
        self.removed += usize::from(kind == LineKind::Removed);
        self.lines.push(Line {
            kind,
            text: text.to_owned(),
        });
    }
}

impl LineKind {
    /// Returns the CSS class for the line's element.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Context => "context",
            Self::Hunk => "hunk",
            Self::Note => "note",
        }
    }

    /// Returns the sign before the line.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "-",
            Self::Context => " ",
            Self::Hunk | Self::Note => "",
        }
    }
}

/// Returns the new path in `a/path b/path`. A quoted path stays quoted.
fn path_of(paths: &str) -> String {
    let path = paths
        .split_once(" b/")
        .or_else(|| paths.split_once(" \"b/"))
        .map(|(_, path)| path);
    path.unwrap_or(paths).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_is_split_into_files_and_lines() {
        let diff = "diff --git a/src/a b.rs b/src/a b.rs\nindex 1..2 100644\n--- a/src/a b.rs\n+++ b/src/a b.rs\n\
            @@ -1,2 +1,2 @@ fn x\n one\n-two\n+--2\n\\ No newline at end of file\n\
            diff --git a/x b/x\ndeleted file mode 100644\n";
        let Changes {
            note,
            files,
            is_cut,
        } = Changes::from_diff(&TreeDiff::Text(diff.into()));
        assert_eq!((note, is_cut, files.len()), (None, false, 2));
        let kinds: Vec<_> = files[0]
            .lines
            .iter()
            .map(|line| (line.kind, line.text.as_str()))
            .collect();
        let expected = [
            (LineKind::Hunk, "@@ -1,2 +1,2 @@ fn x"),
            (LineKind::Context, "one"),
            (LineKind::Removed, "two"),
            (LineKind::Added, "--2"),
            (LineKind::Note, "\\ No newline at end of file"),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(
            (files[0].path.as_str(), files[0].added, files[0].removed),
            ("src/a b.rs", 1, 1)
        );
        assert_eq!(files[1].lines[0].text, "deleted file mode 100644");
    }

    #[test]
    fn long_diff_is_cut() {
        let diff = format!(
            "diff --git a/x b/x\n@@ @@\n{}",
            "+é\n".repeat(DIFF_MAX_BYTES / 3)
        );
        let changes = Changes::from_diff(&TreeDiff::Text(diff));
        assert!(changes.is_cut && changes.files[0].added < DIFF_MAX_BYTES / 3);
        assert!(
            Changes::from_diff(&TreeDiff::Text("\n".into()))
                .note
                .is_some()
        );
    }
}
