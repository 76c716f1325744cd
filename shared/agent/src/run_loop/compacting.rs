//! A summary in progress.

use crate::message::Turn;

/// A summary in progress.
#[derive(Debug, Clone)]
pub(super) struct Compacting {
    /// The request.
    pub(super) turns: Vec<Turn>,
    /// Number of turns that it replaces.
    pub(super) cut: usize,
}
