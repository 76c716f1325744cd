//! A summary in progress.

use crate::message::Turn;

/// A summary in progress.
#[derive(Debug, Clone)]
pub(super) struct Compacting {
    /// The turns of the summary request.
    pub(super) turns: Vec<Turn>,
    /// Number of turns that the summary replaces.
    pub(super) cut: usize,
}
