//! Files, trees, diffs and search hits.

use ars_codehost::diff::{Diff, read_patch};

/// A text that was cut to a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedText {
    /// Text from the host. Untrusted.
    pub text: String,
    /// There was more text than shown.
    pub truncated: bool,
}

/// A file in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// Text from the host. Untrusted.
    Text(BoundedText),
    /// It is no text.
    Binary {
        /// File size in bytes.
        bytes: u64,
    },
    /// The path is a folder with these entries.
    Folder(Vec<TreeEntry>),
}

/// An entry in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Path from the root. Untrusted.
    pub path: String,
    /// It is a folder.
    pub is_folder: bool,
    /// A file's size in bytes.
    pub bytes: Option<u64>,
}

/// A file in a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Current path, or a deleted file's last path. Untrusted.
    pub path: String,
    /// The host's word, such as `modified`. Untrusted.
    pub status: String,
    /// Path before a rename.
    pub previous_path: Option<String>,
    /// Number of added lines.
    pub additions: u64,
    /// Number of removed lines.
    pub deletions: u64,
    /// Hunks; `None` for a binary or huge file. Untrusted.
    pub patch: Option<String>,
}

/// The files in a diff.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedFiles {
    /// Files, in the host's order.
    pub files: Vec<ChangedFile>,
    /// More files were changed than are listed.
    pub truncated: bool,
}

impl ChangedFiles {
    /// Returns the lines on which the host accepts comments.
    pub fn diff(&self) -> Diff {
        let read = |file: &ChangedFile| {
            read_patch(
                &file.path,
                file.patch.as_deref(),
                file.additions.saturating_add(file.deletions),
            )
        };
        let diff = Diff::from_files(self.files.iter().map(read));
        Diff {
            truncated: diff.truncated || self.truncated,
            ..diff
        }
    }
}

/// A hit from a code search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeHit {
    /// The file's path. Untrusted.
    pub path: String,
    /// Matching excerpts. All are untrusted.
    pub excerpts: Vec<String>,
}
