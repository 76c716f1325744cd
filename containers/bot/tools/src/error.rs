//! The tools' errors, as the model reads them.

/// Why an edit changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    /// The `old` text is empty.
    #[error("`old` must not be empty.")]
    Empty,
    /// `old` and `new` are equal.
    #[error("`old` and `new` are the same.")]
    Unchanged,
    /// The text occurs only with other line ends.
    #[error("`old` was not found: the file's lines end with CRLF.")]
    LineEnds,
    /// The text does not occur.
    #[error("`old` was not found. Read the file again: the text must match exactly.")]
    NotFound,
    /// The text occurs this many times.
    #[error("`old` occurs {0} times. Include more lines around it, or set `replaceAll`.")]
    Ambiguous(usize),
}
