//! Files, trees, diffs and hits of a search.

use ars_codehost::diff::{Diff, read_patch};

/// A text that was cut to a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedText {
    /// Text. Untrusted.
    pub text: String,
    /// There was more.
    pub truncated: bool,
}

/// A file of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// Text. Untrusted.
    Text(BoundedText),
    /// It is no text.
    Binary {
        /// Size.
        bytes: u64,
    },
    /// The path is a folder with these entries.
    Folder(Vec<TreeEntry>),
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Path from the root. Untrusted.
    pub path: String,
    /// It is a folder.
    pub is_folder: bool,
    /// Size in bytes of a file.
    pub bytes: Option<u64>,
}

/// A file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Current path, or the last one of a deleted file. Untrusted.
    pub path: String,
    /// Word of the host, such as `modified`. Untrusted.
    pub status: String,
    /// Path before a rename.
    pub previous_path: Option<String>,
    /// Added lines.
    pub additions: u64,
    /// Removed lines.
    pub deletions: u64,
    /// Hunks; `None` for a binary or huge file. Untrusted.
    pub patch: Option<String>,
}

/// The files of a diff.
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

/// A hit of a search in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeHit {
    /// Path. Untrusted.
    pub path: String,
    /// Excerpts. Untrusted.
    pub excerpts: Vec<String>,
}
