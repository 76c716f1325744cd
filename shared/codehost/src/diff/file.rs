//! The changed lines in files, and the comment anchors.

use std::ops::RangeInclusive;

/// Maximum number of files that the host lists in a diff.
pub(super) const MAX_DIFF_FILES: usize = 3_000;
/// Maximum number of lines kept from a single file's diff.
pub(super) const MAX_FILE_DIFF_LINES: usize = 20_000;

/// A pull request's diff.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// Files, in the host's order.
    pub files: Vec<FileDiff>,
    /// More files were changed than are listed.
    pub truncated: bool,
}

/// The diff for a single file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The current path, or a deleted file's last path.
    pub path: String,
    /// How the file's content changed.
    pub change: Change,
}

/// How a file's content changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Lines were changed. Empty for a file that was only renamed.
    Lines(Vec<Hunk>),
    /// The content is no text.
    Binary,
    /// The host shows no lines, because there are too many.
    TooLarge,
}

/// A line range that a diff shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Lines in the new content, changed or not; `None` if none is left.
    pub right: Option<RangeInclusive<u64>>,
    /// Removed lines by their old numbers, in order.
    pub removed: Vec<u64>,
    /// Added lines by their new numbers, in order.
    pub added: Vec<u64>,
}

/// One of the diff's two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The old content: removed lines.
    Left,
    /// The new content: added and unchanged lines.
    Right,
}

/// Why the host would reject an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected {
    /// The pull request does not change the file.
    UnknownFile,
    /// The host shows no lines for the file.
    NoLines,
    /// The diff does not show the line on that side.
    LineNotShown,
    /// The range is reversed, or extends over several hunks.
    BadRange,
}

impl Diff {
    /// Checks an anchor: a line, or a range that ends at it.
    ///
    /// # Errors
    /// Returns why the host would reject it. A single rejected anchor fails a whole review.
    pub fn accepts(
        &self,
        path: &str,
        start: Option<u64>,
        line: u64,
        side: Side,
    ) -> Result<(), Rejected> {
        let file = self
            .files
            .iter()
            .find(|file| file.path == path)
            .ok_or(Rejected::UnknownFile)?;
        let Change::Lines(hunks) = &file.change else {
            return Err(Rejected::NoLines);
        };
        let hunk = hunks
            .iter()
            .find(|hunk| hunk.shows(line, side))
            .ok_or(Rejected::LineNotShown)?;
        match start {
            None => Ok(()),
            Some(start) if start < line && hunk.shows(start, side) => Ok(()),
            Some(_) => Err(Rejected::BadRange),
        }
    }

    /// Counts the added and the removed lines.
    pub fn totals(&self) -> (usize, usize) {
        let hunks = self.files.iter().flat_map(|file| match &file.change {
            Change::Lines(hunks) => hunks.as_slice(),
            Change::Binary | Change::TooLarge => &[],
        });
        hunks.fold((0, 0), |(added, removed), hunk| {
            (added + hunk.added.len(), removed + hunk.removed.len())
        })
    }
}

impl Hunk {
    fn shows(&self, line: u64, side: Side) -> bool {
        match side {
            Side::Right => self
                .right
                .as_ref()
                .is_some_and(|lines| lines.contains(&line)),
            Side::Left => self.removed.binary_search(&line).is_ok(),
        }
    }
}
